// Finding a rule's source in a graph.
#ifndef LEMMA_REWRITE_MATCHING_MATCH_H_
#define LEMMA_REWRITE_MATCHING_MATCH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "rewrite/matching/match_index.h"
#include "rewrite/matching/match_view.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// All elements have the same bytes, as those of a constant in a rule do.
bool IsUniform(const Tensor& tensor);

// A binding of a rule's variables, symbols and source nodes to a graph's.
struct Match {
  int anchor = 0;              // position of the node that the first output's node is bound to
  std::vector<Value> vars;     // by variable
  std::vector<NodePtr> nodes;  // by source node
  SymbolValues symbols;        // constants
  DType dtype = DType::kF32;   // the rule's common type
};

// The same by the numbers that a view gives to nodes.
struct Binding {
  int anchor = 0;
  std::vector<ValueRef> vars;
  std::vector<int> nodes;
  SymbolValues symbols;
  DType dtype = DType::kF32;
};

// A binding in the graph of `index`.
Match ToMatch(const MatchIndex& index, const Binding& binding);

// A rule prepared for matching. Refers to the rule, which must outlive it.
class Matcher {
 public:
  // Fails if the source's outputs are not connected through shared values. `untyped`, by variable:
  // types and sizes do not matter, for matches of less than a rule (rewrite/matching/why_not.h).
  static absl::StatusOr<Matcher> Create(const Substitution& rule, std::vector<bool> untyped = {});
  // The same, but each order of alike siblings is a match of its own: for finding a given match,
  // whose order came from a view that numbered the nodes otherwise.
  static absl::StatusOr<Matcher> CreateForAllOrders(const Substitution& rule);

  const Substitution& rule() const { return *rule_; }
  // The operator of the first output's node: only its applications can be anchors.
  const OpDef& anchor_op() const { return *rule_->source.nodes[rule_->source.outputs[0].node].op; }

  // Calls `found` for every match whose anchor stands at `anchor`, in an order that depends on the
  // graph's structure alone, until it returns false. Returns false if `found` did.
  //
  // A commutative operator's first two operands are tried both ways. Values inside the source may
  // be used elsewhere too: their nodes then stay. Two orders of alike siblings count as one match.
  // Not reported: matches in which a variable depends on an output of the match, since replacing
  // that output would leave it in use.
  bool ForEach(const MatchIndex& index, int anchor,
               absl::FunctionRef<bool(const Match&)> found) const;
  // The same for all anchors in ascending order.
  bool ForEach(const MatchIndex& index, absl::FunctionRef<bool(const Match&)> found) const;

  // Calls `found` for every match of `view` in which `node` is bound to the source's node number
  // `number`, an operator's, until it returns false; so a search for what a change made possible
  // starts from what was changed. Returns false if `found` did. Includes matches that are Tangled.
  bool ForEachAt(const MatchView& view, int number, int node,
                 absl::FunctionRef<bool(const Binding&)> found) const;
  // Whether a variable depends on an output of the match.
  bool Tangled(const MatchView& view, const Binding& match) const;

 private:
  struct Step {
    int node = 0;  // of the source
    // The node is looked for among the users of this value, at this operand; otherwise it is known
    // from an operand of an earlier step (or is where the plan starts).
    std::optional<PatternValue> via;
    int slot = 0;
  };
  using Plan = std::vector<Step>;
  struct State;
  class Run;

  explicit Matcher(const Substitution& rule) : rule_(&rule) {}
  absl::StatusOr<Plan> MakePlan(int start) const;
  void PlanDown(int node, std::vector<bool>* planned, Plan* plan) const;
  bool OperandsMayMatch(const PatternNode& pattern, const MatchView& view, int node) const;
  bool UsersMayMatch(int number, const MatchView& view, int node) const;
  // A text that alike siblings share.
  std::string Signature(const PatternValue& value) const;

  const Substitution* rule_;
  std::vector<Plan> plans_;  // by the source's node that they start from; of operators only
  // By the source's node: one like the anchor that is no operand, so that either order would match.
  // Only the one with the anchor first counts.
  std::vector<bool> after_anchor_;
  // By the source's node, outputs apart: an operator that has to read it.
  std::vector<const OpDef*> reader_;
  // By node and attribute: the value of an attribute without symbols.
  std::vector<std::vector<std::optional<AttrValue>>> literals_;
  std::vector<bool> untyped_;  // by variable; empty: none is
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_MATCH_H_
