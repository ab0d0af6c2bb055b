// Dynamic loss scaling: computes the next loss scale from whether the gradients
// were finite.
#ifndef LEMMA_GRAPH_GRAD_LOSS_SCALE_H_
#define LEMMA_GRAPH_GRAD_LOSS_SCALE_H_

#include <cstdint>
#include <vector>

#include "graph/ops/formula.h"

namespace lemma {

// The rule of PyTorch's GradScaler. s' and g' are the values after an update, s and g before:
//   if a gradient is infinite or NaN:  s' = s / 2, g' = 0
//   otherwise, if g + 1 >= interval:   s' = 2 s, or s if 2 s is infinite; g' = 0
//   otherwise:                         s' = s, g' = g + 1
struct LossScale {
  static constexpr double kInitial = 65536;

  Value scale;  // s, f32[]
  Value good;   // g, i64[]: the number of updates since g was last set to 0
};

// Whether no element of `gradients` is infinite or NaN, as bool[]: magnitudes are compared with the
// largest number of their type, which must be f32 or f64. There must be at least one gradient. An
// empty value if a gradient is empty.
Value AllFinite(Formula& f, const std::vector<Value>& gradients);

// s' and g'. `finite` is bool[].
LossScale NextLossScale(Formula& f, const LossScale& now, const Value& finite, int64_t interval);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_LOSS_SCALE_H_
