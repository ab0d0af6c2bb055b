// What follows from rules in a few steps.
#ifndef LEMMA_GENERATOR_DERIVATION_H_
#define LEMMA_GENERATOR_DERIVATION_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "generator/operator_set.h"

namespace lemma::generator {

// Rules are used in both directions. Types are not looked at: that a step is well-formed is known
// where both of its graphs were enumerated.
class Derivation {
 public:
  explicit Derivation(const OperatorSet& set) : set_(set) {}

  // Numbers rules 0, 1, …; one that is not usable is numbered, but never applied.
  void Add(const Pair& rule, bool usable);
  void Disable(int number) { rules_[number].usable = false; }

  // visit(graph, number of the rule) for every graph that is one step away.
  void ForEachNeighbour(const TermGraph& graph,
                        absl::FunctionRef<void(const TermGraph&, int)> visit) const;
  // The rules of a derivation of the pair of one or two steps, without rule `except`; empty if
  // there is none.
  std::vector<int> Derive(const Pair& pair, int except) const;

 private:
  struct Rule {
    Pair forward, backward;
    bool usable = true;
  };
  const OperatorSet& set_;
  std::vector<Rule> rules_;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_DERIVATION_H_
