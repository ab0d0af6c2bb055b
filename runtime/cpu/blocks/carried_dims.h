// Finds out from an operator's definition which dimensions of its result can be computed in parts.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_CARRIED_DIMS_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_CARRIED_DIMS_H_

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lemma::cpu {

// How a node reads its inputs along each dimension d of its only output. Element [d][i] is the
// dimension of input i that is read at exactly the output's index along d. It is -1 if input i is
// read at the same places for every index along d, or at places that values of other inputs decide.
// The list [d] is empty if d cannot be computed in parts. The whole result is empty if
// InlinedDefinition gives nullopt.
//
// Example: y[i, j] = f(x[i, j], sum_k x[i, k]), as in a softmax, gives {{0}, {}}: dimension 0 can
// be computed in parts, which read the same parts of dimension 0 of x; dimension 1 cannot.
using CarriedDims = std::vector<std::vector<int>>;
CarriedDims CarriedDimsOf(const Node& node);

// A variable over which the result of a node sums, and whose values can be divided into parts: the
// result is the sum of the sums over the parts.
struct SummedDim {
  int variable = -1;  // the variable's position among the axes of the sum
  int64_t extent = 0;
  // For each input: the dimension whose index is exactly the variable; -1 as in CarriedDims.
  std::vector<int> dims;
};

// The variables that can be divided, in ascending order of `variable`. Empty if the definition of
// the node's only output is not a sum. Also empty unless the result is f32 or f64, or is an integer
// and all inputs are integers or truth values. For any other types, the sum over a part would be
// rounded to few digits or to an integer.
//
// Example: y[i, j] = sum_k x[i, k] * w[k, j] gives {{0, K, {1, 0}}}.
std::vector<SummedDim> SummedDimsOf(const Node& node);

// Which reductions the definition of a node has. If InlinedDefinition gives nullopt, `any` and
// `beside` are false.
struct Reductions {
  bool any = false;     // the definition has a sum, a maximum or another reduction
  bool beside = false;  // some input is read both inside and outside a reduction, as by a softmax
  // For each input: whether it is read inside a reduction; empty without a definition.
  std::vector<bool> of_input;
};
Reductions ReductionsOf(const Node& node);

// The definition of a node with one output, as one tensor without locals; nullopt if the node is no
// operator, has several outputs or no definition, or if its locals cannot be substituted.
std::optional<Definition> InlinedDefinition(const Node& node);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_CARRIED_DIMS_H_
