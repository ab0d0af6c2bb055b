// Whether a rule follows from others: a chain of their applications from its source to its target.
//
// A rule speaks of all sizes, a chain of graphs at the sizes it was found at. Each step is an
// application of a rule that the matcher finds and whose statement covers it, so the two ends are
// equal there if the rules are true. That they are at other sizes too is made plausible by sizes
// that are distinct (rewrite/derivation/typings.h), and is not shown: where a rule's truth matters,
// it has to be proved itself. Nor does "not found" show that there is no derivation.
#ifndef LEMMA_REWRITE_DERIVATION_DERIVE_H_
#define LEMMA_REWRITE_DERIVATION_DERIVE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "rewrite/matching/instantiate.h"
#include "rewrite/matching/match.h"
#include "rewrite/rules/coverage.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// The graph with the first two operands of each commutative operator in one order: equal outputs
// for all graphs that differ in that order only.
Graph WithOperandsInOrder(const Graph& graph);

struct DerivationStep {
  int rule = 0;           // number in Deriver::rules()
  bool backward = false;  // from the rule's target to its source
  Graph graph;            // after the step, operands in order
};
struct Derivation {
  Graph source;                       // operands in order
  std::vector<DerivationStep> steps;  // none: both ends are one graph

  const Graph& target() const { return steps.empty() ? source : steps.back().graph; }
};

struct DeriveLimits {
  int max_steps = 6;
  int64_t max_graphs = 20000;  // from both ends together
  int extra_ops = 4;           // how many operators more than the larger end a graph may have
  std::set<int> without;       // numbers of rules not to be used
};

struct DeriveResult {
  std::optional<Derivation> derivation;
  int64_t graphs = 0;  // seen
  int steps = 0;       // all chains of so many steps were tried, as far as steps can be found
  // Every graph that can be reached within extra_ops was seen.
  bool exhausted = false;
};

// Rules to derive with. They are taken as they are: whether they are proved is for the caller to
// know. Roles of variables, which are about profit, are dropped.
class Deriver {
 public:
  explicit Deriver(std::vector<Substitution> rules);

  const std::vector<Substitution>& rules() const { return rules_; }
  // Whether applications in this direction can be looked for: all outputs there are operators' and
  // connected, all variables occur. A chain may have steps in the other direction all the same,
  // where they are found from its other end.
  bool CanApply(int rule, bool backward) const;

  // visit(graph, rule, backward) for every graph that one step makes of `graph`.
  void ForEachNeighbour(const Graph& graph, const std::set<int>& without,
                        absl::FunctionRef<void(Graph, int, bool)> visit) const;

  // Breadth first from both ends, so a chain found is short, if not always the shortest. The result
  // depends on the rules and graphs alone. InvalidArgument if the graphs' inputs differ.
  absl::StatusOr<DeriveResult> Derive(const Graph& source, const Graph& target,
                                      const DeriveLimits& limits = {}) const;

  // Repeats a derivation step by step from its graphs. FailedPrecondition names the first step that
  // is none.
  absl::Status Check(const Derivation& derivation) const;

 private:
  struct Direction {
    Direction(int n, bool b, const Substitution& r) : number(n), backward(b), rule(r) {}
    int number;
    bool backward;
    Substitution rule;  // source and target exchanged if backward
    std::optional<Matcher> matcher;
  };
  class Search;

  void Add(int number, bool backward);
  void ForEachApplication(const Direction& direction, const MatchIndex& index, int anchor,
                          absl::FunctionRef<void(Graph)> visit) const;

  std::vector<Substitution> rules_;
  // By rule: what its proof speaks of is the same in both directions.
  std::vector<std::unique_ptr<Coverage>> coverage_;
  // By number and whether it is backward; those that can be applied.
  std::map<std::pair<int, bool>, std::unique_ptr<const Direction>> directions_;
  absl::flat_hash_map<const OpDef*, std::vector<const Direction*>> by_op_;
};

// A rule derived, at several typings.
struct RuleDerivation {
  struct AtTyping {
    Assignment assignment;
    DeriveResult result;
  };
  std::vector<AtTyping> typings;  // the first one without a derivation is the last one tried

  bool found() const { return !typings.empty() && typings.back().result.derivation.has_value(); }
};

// Tries up to `typings` typings of the rule. InvalidArgument if none was found.
absl::StatusOr<RuleDerivation> DeriveRule(const Deriver& deriver, const Substitution& rule,
                                          const DeriveLimits& limits = {}, int typings = 3);

// Whether each of the rules is one application of the other, at the typings tried: they differ in
// names, the order of commutative operands, or which side is the source, at most.
bool AreTheSame(const Substitution& a, const Substitution& b);

// "3 steps: gen_1, gen_4 backward, gen_2"; "no step: both sides are one graph".
std::string Summary(const Deriver& deriver, const Derivation& derivation);
// "not found within 20000 graphs; chains of up to 4 steps were tried", or that there are no others.
std::string NotFound(const DeriveResult& result);
// The loosest contract of the rules used; bit_exact if there are none.
FloatContract ContractOf(const Deriver& deriver, const Derivation& derivation);

}  // namespace lemma

#endif  // LEMMA_REWRITE_DERIVATION_DERIVE_H_
