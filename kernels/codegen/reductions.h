// Finds equal reductions in a tensor's body, and moves reductions into tensors of their own.
#ifndef LEMMA_KERNELS_CODEGEN_REDUCTIONS_H_
#define LEMMA_KERNELS_CODEGEN_REDUCTIONS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/expr/scalar_expr.h"
#include "kernels/loops/contraction.h"
#include "kernels/loops/loop_source.h"

namespace lemma::codegen {

// Returns `e` with one shared node for reductions that are equal up to the names of their
// variables. Leaves guarded reductions as they are: those in a branch of a select or in the body of
// a reduction with a guard. A reduction's own guard does not count.
ScalarExpr ShareReductions(const ScalarExpr& e);

bool HasReduction(const ScalarExpr& e);

// Whether `e` is an application of `fn`.
bool IsApply(const ScalarExpr& e, ScalarFn fn);

// The source of a nest that computes `tensor` into slot `slot`, simplified and with equal
// reductions shared. *fresh is the number of the next new variable, and is advanced.
loops::NestSource SimplifiedSource(const TensorExpr& tensor, int slot, int* fresh);

// The first of the body's OuterReductions that is a sum of products large enough for tiles: the
// reduction, and its axes and factors. nullopt if there is none. `least_rows`: see
// loops::MatchContraction.
using FoundContraction = std::optional<std::pair<ScalarExpr, loops::ContractionSource>>;
FoundContraction FindContraction(const loops::NestSource& source,
                                 int64_t least_rows = loops::kLeastRows);

// The reductions of `body` that are neither guarded nor inside another reduction.
std::vector<ScalarExpr> OuterReductions(const ScalarExpr& body);

// Moves reductions from the body of `source` into new tensors: the reductions
// that are not guarded and depend on nothing but axes of `source`. Two kinds of
// such reductions stay in the body: the reduction `keep` (nullptr: none) and,
// if `all` is false, reductions that depend on all axes with extents above 1.
// Returns `source` with reads of the new tensors. Appends the sources that
// compute the new tensors to `before`, operands before users, and the slots of
// the new tensors to `slots`.
loops::NestSource MoveReductionsOut(const loops::NestSource& source, bool all,
                                    const ScalarNode* keep, std::vector<loops::Slot>* slots,
                                    std::vector<loops::NestSource>* before);

// Splits `reduce`, whose extents are constants, into `parts` parts of equal length; the last parts
// may be cut short or empty. A new tensor holds the results of the parts: *partial becomes the
// source that computes this tensor, and its slot is appended to `slots`. Returns the reduction of
// the new tensor over the parts. `axes` are the enclosing loops. *fresh is the number of the next
// new variable, and is advanced.
ScalarExpr SplitReduction(const ScalarExpr& reduce, const std::vector<Axis>& axes, int64_t parts,
                          int* fresh, std::vector<loops::Slot>* slots, loops::NestSource* partial);

// Unrolls short axes of the sum `reduce`, whose extents are constants: an axis is replaced by one
// term for each of its values if it has at most four values, is not the last axis, and the
// condition of a select depends on it. Returns `reduce` if it has no such axis, if it has a guard,
// or if it is not a sum. `axes` are the loops around it.
ScalarExpr UnrolledShortAxes(const ScalarExpr& reduce, const std::vector<Axis>& axes, int* fresh);

// `e` with the node `what`, which must not be guarded, replaced by `by`.
ScalarExpr Replace(const ScalarExpr& e, const ScalarNode* what, const ScalarExpr& by);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_REDUCTIONS_H_
