// Derives a rule from other rules: finds a chain of rule applications that leads from the source of
// the rule to its target.
//
// A rule holds for all sizes; a chain consists of graphs of given sizes. Each step applies a rule
// whose proof covers the match, so the two ends are equal at these sizes if the rules are true.
// Chains at distinct sizes (rewrite/derivation/typings.h) make the derived rule plausible at other
// sizes but do not prove it: where the truth of the rule matters, prove the rule itself. The result
// "not found" does not show that no derivation exists.
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

// The graph with the first two operands of each commutative operator in a fixed order. Graphs that
// differ only in the order of these operands get equal outputs. Below, "operands in order" means
// that a graph is such a result.
Graph WithOperandsInOrder(const Graph& graph);

struct DerivationStep {
  int rule = 0;           // number in Deriver::rules()
  bool backward = false;  // from the rule's target to its source
  Graph graph;            // graph after the step, operands in order
};
struct Derivation {
  Graph source;                       // operands in order
  std::vector<DerivationStep> steps;  // empty: both ends are the same graph

  const Graph& target() const { return steps.empty() ? source : steps.back().graph; }
};

struct DeriveLimits {
  int max_steps = 6;
  int64_t max_graphs = 20000;  // graphs from both ends together
  int extra_ops = 4;           // how many more operators than the larger end a graph may have
  std::set<int> without;       // numbers of rules that must not be used
};

struct DeriveResult {
  std::optional<Derivation> derivation;
  int64_t graphs = 0;  // graphs seen
  // If there is no derivation: all chains of up to this many steps were tried, except chains with a
  // graph larger than DeriveLimits::extra_ops allows, or with a step that the search cannot match
  // (CanApply).
  int steps = 0;
  // Every graph that can be reached within DeriveLimits::extra_ops was seen, and no derivation was
  // found.
  bool exhausted = false;
};

// Derives with given rules. Does not check that they are proved. Ignores the roles of variables, so
// a rule for weights applies to any value.
class Deriver {
 public:
  explicit Deriver(std::vector<Substitution> rules);

  const std::vector<Substitution>& rules() const { return rules_; }
  // Whether the rule can be matched in this direction: on the side that is matched, operators
  // compute all outputs, the outputs are connected, and all variables occur. Chains are searched
  // from both ends, so they may contain steps of a rule in both directions even if it can be
  // matched in only one.
  bool CanApply(int rule, bool backward) const;

  // Calls visit(next, rule, backward) for every graph `next`, with operands in order, that one step
  // makes of `graph`. Does not use the rules with numbers in `without`.
  void ForEachNeighbor(const Graph& graph, const std::set<int>& without,
                       absl::FunctionRef<void(Graph, int, bool)> visit) const;

  // Searches breadth first from both ends: a chain found is short, but not always the shortest. The
  // result depends only on the rules, the graphs and the limits. InvalidArgument if the graphs
  // differ in their inputs or in the number of outputs.
  absl::StatusOr<DeriveResult> Derive(const Graph& source, const Graph& target,
                                      const DeriveLimits& limits = {}) const;

  // Checks each step of a derivation by repeating it. FailedPrecondition names the first invalid
  // step.
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
  // By rule: the coverage of its proof, which is the same in both directions.
  std::vector<std::unique_ptr<Coverage>> coverage_;
  // By rule number and `backward`; only those that can be matched.
  std::map<std::pair<int, bool>, std::unique_ptr<const Direction>> directions_;
  absl::flat_hash_map<const OpDef*, std::vector<const Direction*>> by_op_;
};

// The derivations of a rule at several typings (assignments of sizes,
// rewrite/derivation/typings.h).
struct RuleDerivation {
  struct AtTyping {
    Assignment assignment;
    DeriveResult result;
  };
  std::vector<AtTyping> typings;  // ends with the first that has no derivation, if any

  bool found() const { return !typings.empty() && typings.back().result.derivation.has_value(); }
};

// Tries up to `typings` typings of the rule. InvalidArgument if the rule has none.
absl::StatusOr<RuleDerivation> DeriveRule(const Deriver& deriver, const Substitution& rule,
                                          const DeriveLimits& limits = {}, int typings = 3);

// Whether each rule follows from at most one application of the other rule, at the typings tried.
// Then the rules usually differ only in names, in the order of commutative operands, and in which
// side is the source. They may also differ in conditions that hold at all typings tried, in the
// roles of variables, and in float contracts, which are not compared.
bool AreTheSame(const Substitution& a, const Substitution& b);

// "3 steps: gen_1, gen_4 backward, gen_2" or "no step: both sides are one graph".
std::string Summary(const Deriver& deriver, const Derivation& derivation);
// "not found within 20000 graphs; chains of up to 4 steps were tried", or, if the search was
// exhausted, "not derivable: no further graph can be reached (17 seen from both sides)".
std::string NotFound(const DeriveResult& result);
// The loosest contract of the rules used; bit_exact if there are none.
FloatContract ContractOf(const Deriver& deriver, const Derivation& derivation);

}  // namespace lemma

#endif  // LEMMA_REWRITE_DERIVATION_DERIVE_H_
