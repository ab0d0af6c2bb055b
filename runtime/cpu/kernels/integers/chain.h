// Executes chains of element-wise steps on floats; the numbers stay in registers between steps.
// Each step rounds as the definition of its function does.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_CHAIN_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_CHAIN_H_

#include <cstdint>

#include "graph/expr/scalar_expr.h"
#include "runtime/cpu/kernels/integers/tiles.h"

namespace lemma::kernels {

// A step changes x, or a second number `other`. The comments of the kinds give
// the new value, of x unless they say "other =". min and max propagate a NaN in
// x; for them, `number` must not be NaN.
struct ChainStep {
  enum class Kind {
    kAdd,            // x + number
    kSubtract,       // x - number
    kSubtractFrom,   // number - x
    kMultiply,       // x * number
    kDivide,         // x / number
    kDivideFrom,     // number / x
    kMin,            // min(x, number)
    kMax,            // max(x, number)
    kScaleNegative,  // x < 0 ? x * number : x
    kRound,          // to the nearest integer, ties to even
    kClip,           // at least low, then at most high
    kNarrow,         // clamped to [low, high], rounded towards zero; NaN becomes 0
    kQuantize,       // four steps in one: kDivide, kRound, + offset, kNarrow
    kFunction,       // function(x)
    kLoadU8,         // other = an element of `data`, which has one element for each x
    kLoadI8,
    kLoadF32,
    kLoadVector,    // other = an element of `data`, which has one f32 for each column
    kLoadVectorU8,  // the same with integers
    kLoadVectorI8,
    kKeep,                // other = x
    kTakeOther,           // other
    kAddOther,            // x + other
    kSubtractOther,       // x - other
    kMultiplyOther,       // x * other
    kDivideOther,         // x / other
    kScaleNegativeOther,  // x < 0 ? x * other : x
    kSelectOther,         // x < 0 ? other : x
  };
  Kind kind = Kind::kAdd;
  bool on_other = false;  // changes `other` instead of x; not for kLoad…, kKeep and k…Other
  // A function of one argument, computed as kernels/lanes computes it on floats.
  ScalarFn function = ScalarFn::kNeg;
  float number = 0, offset = 0, low = 0, high = 0;
  const void* data = nullptr;  // row i begins at element i * data_step; vectors have one row
  int64_t data_step = 0;
};

inline bool IsVector(ChainStep::Kind kind) {
  return kind == ChainStep::Kind::kLoadVector || kind == ChainStep::Kind::kLoadVectorU8 ||
         kind == ChainStep::Kind::kLoadVectorI8;
}

enum class ChainResult { kF32, kU8, kI8 };

// Columns are computed in blocks of 8 to 64. The last columns of a row that fill no block of 8 are
// computed one at a time, which is slow.
constexpr int64_t kChainColumns = 8;

// Applies the `count` steps to each x[i * x_step + j], or to 0 if x is nullptr, for i < rows, j <
// columns. Stores the outcome at y[i * y_step + j] in the type `result`. If the result is kU8 or
// kI8, the steps must have narrowed it to that type. y must not overlap x or the steps' data,
// except in one case: y may be x, or the data of a step, if both have the same element size and row
// step.
void ApplyChain(const float* x, int64_t x_step, int64_t rows, int64_t columns,
                const ChainStep* steps, int count, ChainResult result, void* y, int64_t y_step,
                IntegerIsa isa = BestIntegerIsa());

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_CHAIN_H_
