// Recognizes sums of products of two factors: convolutions and matrix products of any layout.
// Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_CONTRACTION_H_
#define LEMMA_KERNELS_LOOPS_CONTRACTION_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/expr/scalar_expr.h"
#include "kernels/loops/loop_ir.h"
#include "kernels/loops/loop_source.h"

namespace lemma {
namespace loops {

// out[batch, m, n] = sum(k) a(batch, m, k) * b(batch, n, k). Each of batch, m, n and k is a list of
// axes, and a factor is any expression in its axes. The last of the output's axes with an extent
// above 1 is in n or in batch.
struct ContractionSource {
  std::vector<Axis> batch, m, n, k;
  ScalarExpr a, b;
  // Whether the sum has a guard. The guard is moved into the factors: where it is false, a factor
  // is 0. If the other factor is infinite or NaN there, the term is NaN instead of left out.
  bool guarded = false;
};

// The default of `least_rows` below.
constexpr int64_t kLeastRows = 8;
// `reduce` as a contraction over the output's `axes`, which have constant
// extents. nullopt if `reduce` is no contraction, multiplies more than six
// factors, or is so small that copying its factors costs more than it saves: m
// and n must be at least `least_rows`, and k and the number of products must
// reach fixed limits. Every variable of `reduce` must be bound once.
std::optional<ContractionSource> MatchContraction(const ScalarExpr& reduce,
                                                  const std::vector<Axis>& axes,
                                                  int64_t least_rows = kLeastRows);

// A factor as a function of its rows (the m or n axes) and depths (the k axes); the last axes are
// the fastest.
struct Factor {
  Nest nest;                             // vectorized over the last of `rows` or of `depths`
  std::vector<int> batch, rows, depths;  // variables of `nest`
};

// A contraction ready to run. The nest `out` computes nothing: it gives the offset of a result's
// element as a function of the variables out_batch, out_m and out_n.
struct Contraction {
  std::vector<int64_t> batch;   // extents of the axes
  int64_t m = 1, n = 1, k = 1;  // the number of values of all axes of each list together
  Factor a, b;
  Nest out;
  std::vector<int> out_batch;  // variables of `out`, as out_m and out_n are
  int out_m = -1, out_n = -1;
  bool guarded = false;  // as in ContractionSource
};

// Lowers `contraction`, a result of MatchContraction, so that it can run. The body of `source` must
// be this contraction. *fresh is the number of the next new variable, and is advanced.
Contraction LowerContraction(const NestSource& source, const ContractionSource& contraction,
                             absl::Span<const Slot> slots, int* fresh);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_CONTRACTION_H_
