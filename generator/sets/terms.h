// Normalizes graphs and pairs of the generator (generator/sets/operator_set.h), so that those of
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

// Adds, for each input, its number of occurrences in `value`, as a tree, to (*counts)[-1 - input].
void CountInputs(const NumberedGraph& graph, int value, std::vector<int>* counts);

// The same graph, with equal terms merged, unread terms removed, operands of commutative operators
// sorted, and operators in the order in which outputs need them. nullopt if an operator would read
// its own result.
std::optional<NumberedGraph> Normalized(const OperatorSet& set, const NumberedGraph& graph);

// A pair whose outputs have an order independent of the inputs' names, and whose inputs are
// variables -1, -2, …, numbered by first occurrence.
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
