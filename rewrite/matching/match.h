// Finds the places in a graph where a rule's source occurs.
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

// Whether the tensor has elements and all elements have the same bytes, as in a rule's constants.
bool IsUniform(const Tensor& tensor);

// A match: binds a rule's variables and source nodes to values and nodes of a graph, and its
// symbols to constants.
struct Match {
  int anchor = 0;              // position of the node that computes the source's first output
  std::vector<Value> vars;     // by variable
  std::vector<NodePtr> nodes;  // by source node
  SymbolValues symbols;        // by symbol; sizes may be symbolic
  DType dtype = DType::kF32;   // the rule's common type; kF32 if nothing has that type
};

// The same match, with nodes given by their numbers in a MatchView.
struct Binding {
  int anchor = 0;
  std::vector<ValueRef> vars;
  std::vector<int> nodes;
  SymbolValues symbols;
  DType dtype = DType::kF32;
};

// Whether the matcher tries both orders of the node's first two operands.
bool IsCommuting(const PatternNode& node);

// The match that `binding`, made in the view `index`, describes.
Match ToMatch(const MatchIndex& index, const Binding& binding);

// A rule prepared for matching. The rule must outlive the object, which refers to it.
class Matcher {
 public:
  // InvalidArgument if the source's outputs are not connected through shared values. `untyped`
  // says, by variable, whether the variable's type and sizes are ignored, to match a part of a rule
  // (rewrite/matching/why_not.h); empty: for no variable.
  static absl::StatusOr<Matcher> Create(const Substitution& rule, std::vector<bool> untyped = {});
  // The same, but every order of interchangeable siblings is reported as a match of its own (see
  // ForEach). Siblings are nodes of the source that read a common operand. They are interchangeable
  // if the rule treats them alike. Use this function to find a match again that was found in a view
  // whose nodes are numbered differently.
  static absl::StatusOr<Matcher> CreateForAllOrders(const Substitution& rule);

  const Substitution& rule() const { return *rule_; }
  // The operator of the first output's node; all anchors are applications of it.
  const OpDef& anchor_op() const { return *rule_->source.nodes[rule_->source.outputs[0].node].op; }

  // Calls `found` for every match with this anchor, until `found` returns false; then returns
  // false. The order of the matches depends on the graph's structure alone.
  //
  // Tries both orders of a commutative operator's first two operands. A value inside the match may
  // have users outside of it; the value's node then stays. If interchangeable siblings may each be
  // the anchor, reports only matches in which the sibling with the lowest position is the anchor,
  // unless the rule has a precondition. Skips matches that are Tangled (below), because the target
  // would still use the output that it replaces.
  bool ForEach(const MatchIndex& index, int anchor,
               absl::FunctionRef<bool(const Match&)> found) const;
  // The same for all anchors in ascending order.
  bool ForEach(const MatchIndex& index, absl::FunctionRef<bool(const Match&)> found) const;

  // Calls `found` for every match in `view` that binds `node` to node number `number` of the
  // source, until `found` returns false; then returns false. Node number `number` must be an
  // operator. A search uses this function to look for new matches around a change. Includes Tangled
  // matches.
  bool ForEachAt(const MatchView& view, int number, int node,
                 absl::FunctionRef<bool(const Binding&)> found) const;
  // Whether a variable's value depends on an output of the match. Such a match must not be applied.
  bool Tangled(const MatchView& view, const Binding& match) const;

  // A step of the search for a match: binds the operands of a node.
  struct Step {
    int node = 0;  // of the source
    // The node is searched among the nodes that read this value as operand `slot`. Without a value,
    // the node is known already: an earlier step bound it as an operand, or the plan starts at it.
    std::optional<PatternValue> via;
    int slot = 0;
  };
  // The steps of ForEachAt from node `number` of the source, which must be an operator.
  const std::vector<Step>& PlanFrom(int number) const { return plans_[number]; }
  // The value that attribute number `attr` of the node must have; nullopt if it depends on symbols.
  const std::optional<AttrValue>& LiteralOf(int node, size_t attr) const {
    return literals_[node][attr];
  }

 private:
  using Plan = std::vector<Step>;
  struct State;
  class Run;

  explicit Matcher(const Substitution& rule) : rule_(&rule) {}
  absl::StatusOr<Plan> MakePlan(int start) const;
  void PlanDown(int node, std::vector<bool>* planned, Plan* plan) const;
  bool OperandsMayMatch(const PatternNode& pattern, const MatchView& view, int node) const;
  bool UsersMayMatch(int number, const MatchView& view, int node) const;
  // A text that is equal for interchangeable siblings.
  std::string Signature(const PatternValue& value) const;

  const Substitution* rule_;
  std::vector<Plan> plans_;  // by source node where the plan starts; for operators only
  // By source node: whether it is a sibling of the anchor and interchangeable with it. Only the
  // match where the anchor has the lower position counts.
  std::vector<bool> after_anchor_;
  // By source node that is no output: an operator that must read it.
  std::vector<const OpDef*> reader_;
  // By node and attribute: the value of an attribute without symbols.
  std::vector<std::vector<std::optional<AttrValue>>> literals_;
  std::vector<bool> untyped_;  // by variable; empty: all are typed
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_MATCH_H_
