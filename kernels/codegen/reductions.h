// Reductions inside a tensor's body: which are the same, and which to compute on their own.
#ifndef LEMMA_KERNELS_CODEGEN_REDUCTIONS_H_
#define LEMMA_KERNELS_CODEGEN_REDUCTIONS_H_

#include <cstdint>
#include <vector>

#include "graph/expr/scalar_expr.h"
#include "kernels/loops/loop_source.h"

namespace lemma::codegen {

// `e` with equal reductions, up to the names of their variables, as one.
ScalarExpr ShareReductions(const ScalarExpr& e);

// The reductions of `body` that are under no guard and in no other reduction.
std::vector<ScalarExpr> OuterReductions(const ScalarExpr& body);

// Takes every reduction out of the body of `source` that is under no guard, that depends on axes of
// `source` alone, and on not all of them (or `all`, whatever it depends on), into a new tensor;
// except `keep`. Appends what computes these to `before`, operands before users, and their slots to
// `slots`.
loops::NestSource ExtractReductions(const loops::NestSource& source, bool all,
                                    const ScalarNode* keep, std::vector<loops::Slot>* slots,
                                    std::vector<loops::NestSource>* before);

// `reduce`, whose extents are constants, in `parts` parts of equal length: returns the reduction of
// these, which reads a new tensor, and sets *partial to what computes that. `axes` are the loops
// around; *fresh numbers new variables.
ScalarExpr SplitReduction(const ScalarExpr& reduce, const std::vector<Axis>& axes, int64_t parts,
                          int* fresh, std::vector<loops::Slot>* slots, loops::NestSource* partial);

// `e` with the node `what` replaced.
ScalarExpr Replace(const ScalarExpr& e, const ScalarNode* what, const ScalarExpr& by);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_REDUCTIONS_H_
