// Transforms nests while their bodies are still expressions, before they are lowered. In all
// functions, *fresh is the number of the next new variable, and is advanced. Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_PASSES_H_
#define LEMMA_KERNELS_LOOPS_LOOP_PASSES_H_

#include <vector>

#include "kernels/loops/loop_source.h"

namespace lemma {
namespace loops {

// Splits the box of `source` where a guard on a single output index changes its value, so that each
// piece of a concatenation or a padding is a plain nest. Returns {source}, simplified, if there is
// nothing to split or if there would be too many pieces.
std::vector<NestSource> SplitAtGuards(const NestSource& source, int* fresh);

// If indices use digits of an axis, replaces the axis by one axis per digit, as for a convolution's
// groups or a merged dimension. Digits are quotients and remainders by constants. Each constant has
// to be a multiple of the next smaller one, and the axis's extent a multiple of the largest one. If
// a guard admits every m-th value of an axis, splits the axis into an axis of m phases and an axis
// of the positions in a phase. The guard then depends on the phase, not on the position.
NestSource SplitMixedAxes(const NestSource& source, int* fresh);
// Splits the axes of the reduction `reduce` in the same way, but by digits only. `axes` are the
// loops around the reduction.
ScalarExpr SplitMixedReduction(const ScalarExpr& reduce, const std::vector<Axis>& axes, int* fresh);

// Moves reductions that are better computed separately into new tensors: contractions
// (contraction.h), and reductions that would be repeated because they do not depend on all
// enclosing loops. Returns `source` with reads of the new tensors. Appends the nests that compute
// the new tensors to `before`, operands before users, and the slots of the new tensors to `slots`.
// Reductions under a guard stay.
NestSource ExtractReductions(const NestSource& source, std::vector<Slot>* slots,
                             std::vector<NestSource>* before);

// Merges the last axes of `source` into one axis if the last one is short; the result has one
// source. The result is empty if the last axis is long enough, or if there is no other axis to
// merge it with.
std::vector<NestSource> CollapseShortAxes(const NestSource& source, int* fresh);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_PASSES_H_
