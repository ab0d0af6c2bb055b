// Reads off an operator's definition which dimensions of its result can be computed in parts.
#ifndef LEMMA_RUNTIME_CPU_CARRIED_DIMS_H_
#define LEMMA_RUNTIME_CPU_CARRIED_DIMS_H_

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lemma::cpu {

// Element [d][i], for dimension d of a node's only output and input i: the dimension of input i
// that is read at exactly the output's index along d; -1 if input i is read at the same places for
// every index along d. The list [d] is empty if d cannot be computed in parts. The whole result is
// empty if InlinedDefinition gives nullopt.
//
// Example: y[i, j] = f(x[i, j], sum_k x[i, k]), as in a softmax, gives {{0}, {}}: dimension 0 can
// be computed in parts, which read the same parts of dimension 0 of x; dimension 1 cannot.
using CarriedDims = std::vector<std::vector<int>>;
CarriedDims CarriedDimsOf(const Node& node);

// Whether some input is read both inside and outside a reduction, as by a softmax.
bool ReadsBesideReduction(const Node& node);

// The definition of a node with one output, as one tensor without locals; nullopt if the node is no
// operator, has several outputs or no definition, or if its locals cannot be substituted.
std::optional<Definition> InlinedDefinition(const Node& node);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_CARRIED_DIMS_H_
