// Reads off an operator's definition which dimensions of its result can be computed in parts.
#ifndef LEMMA_RUNTIME_CPU_CARRIED_DIMS_H_
#define LEMMA_RUNTIME_CPU_CARRIED_DIMS_H_

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lemma::cpu {

// For each dimension of the only output: the dimension of each input that is read at the output's
// index in this dimension, and at no other place; -1 for an input that is read at the same places
// for every index. Empty for a dimension for which this does not hold for all inputs: of a softmax,
// the dimension along which it adds up.
//
// It is read off the definition: y[i, j] = f(x[i, j], sum_k x[i, k]) carries i, and not j.
using CarriedDims = std::vector<std::vector<int>>;
CarriedDims CarriedDimsOf(const Node& node);

// Whether some input is read both inside and outside a reduction, as by a softmax.
bool ReadsBesideReduction(const Node& node);

// The definition of a node with one output, without locals; nullopt if it has none.
std::optional<Definition> InlinedDefinition(const Node& node);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_CARRIED_DIMS_H_
