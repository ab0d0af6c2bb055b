// Normalizes graphs and pairs of the generator (generator/sets/operator_set.h): graphs or pairs of
// equal structure become equal.
#ifndef LEMMA_GENERATOR_SETS_TERMS_H_
#define LEMMA_GENERATOR_SETS_TERMS_H_

#include <optional>
#include <string>
#include <vector>

#include "generator/sets/operator_set.h"

namespace lemma::generator {

// Removes operators that no output depends on.
void RemoveUnread(NumberedGraph* graph);

// Counts how often each input occurs in `value` if the value is written as a tree, without shared
// operators. Adds the count of the input number `input` (-1, -2, …) to (*counts)[-1 - input];
// *counts grows as needed.
void CountInputs(const NumberedGraph& graph, int value, std::vector<int>* counts);

// The same graph, with equal terms merged, unread terms removed, operands of commutative operators
// sorted, and operators in the order in which outputs need them. `graph` may have operands after
// their users. nullopt if an operator depends on its own result.
std::optional<NumberedGraph> Normalized(const OperatorSet& set, const NumberedGraph& graph);

// A pair whose inputs are variables -1, -2, …, numbered by first occurrence, and whose outputs are
// in an order that does not depend on the names of the original inputs.
struct NamedPair {
  Pair pair;
  std::string key;  // equal for pairs that differ only in names
  int num_variables = 0;
  // inputs[i]: the (negative) number that variable -1 - i has in the original pair.
  std::vector<int> inputs;
  bool covers = false;  // every variable of the target occurs in the source
};
NamedPair WithoutNames(const OperatorSet& set, const Pair& pair);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TERMS_H_
