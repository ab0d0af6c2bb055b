// Graphs of terms as such, and names for pairs of them.
#ifndef LEMMA_GENERATOR_SETS_TERMS_H_
#define LEMMA_GENERATOR_SETS_TERMS_H_

#include <optional>
#include <string>
#include <vector>

#include "generator/sets/operator_set.h"

namespace lemma::generator {

// Drops operators that no output depends on.
void RemoveUnread(TermGraph* graph);

// Adds how often each input is in the value, as a tree; by -1 - input.
void CountInputs(const TermGraph& graph, int value, std::vector<int>* counts);

// Equal terms merged, unread ones dropped, operands of commutative operators in order; operators
// in the order in which the outputs need them. nullopt if an operator would read its own result.
std::optional<TermGraph> Normalized(const OperatorSet& set, const TermGraph& graph);

// The pair with its outputs in an order that does not depend on inputs' names, and its inputs
// numbered by first occurrence as variables: -1, -2, …
struct NamedPair {
  Pair pair;
  std::string key;  // equal for pairs that differ in names only
  int num_variables = 0;
  std::vector<int> inputs;  // of the pair that was named, by number of variable
  bool covers = false;      // the target has no variable that the source has not
};
NamedPair WithoutNames(const OperatorSet& set, const Pair& pair);

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_SETS_TERMS_H_
