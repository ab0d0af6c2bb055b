// Reads off an operator's definition which dimensions of its result can be computed in parts.
#ifndef LEMMA_RUNTIME_CPU_CARRIED_DIMS_H_
#define LEMMA_RUNTIME_CPU_CARRIED_DIMS_H_

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lemma::cpu {

// By dimension of the only output, by input: the input's dimension that is read at exactly the
// output's index; -1 if the input is read at the same places for every index. Empty for a dimension
// that cannot be computed in parts.
//
// Example: y[i, j] = f(x[i, j], sum_k x[i, k]), as in a softmax, gives {{0}, {}}.
using CarriedDims = std::vector<std::vector<int>>;
CarriedDims CarriedDimsOf(const Node& node);

// Whether some input is read both inside and outside a reduction, as by a softmax.
bool ReadsBesideReduction(const Node& node);

// The definition of a node with one output, without locals; nullopt if it has none.
std::optional<Definition> InlinedDefinition(const Node& node);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_CARRIED_DIMS_H_
