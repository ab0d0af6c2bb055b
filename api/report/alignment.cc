#include "api/report/alignment.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/strip.h"

namespace lemma::api {
namespace {

using NodeSet = absl::flat_hash_set<const Node*>;
using Places = absl::flat_hash_map<const Node*, PartOfOperator>;

bool AreAlike(const Node& a, const Node& b) {
  return a.is_op() && b.is_op() && &a.op() == &b.op() && a.inputs().size() == b.inputs().size();
}

// By node of `given`: the node of `compared` that it became. Both have the same structure, but for
// constants that became computed values.
absl::flat_hash_map<const Node*, NodePtr> BecomingOf(const Graph& given, const Graph& compared) {
  absl::flat_hash_map<const Node*, NodePtr> becoming;
  std::vector<std::pair<NodePtr, NodePtr>> stack;
  const auto &names = given.output_names(), &others = compared.output_names();
  const bool by_name = std::set<std::string>(names.begin(), names.end()) ==
                       std::set<std::string>(others.begin(), others.end());
  for (size_t o = 0; o < others.size(); ++o) {
    const auto found = std::find(names.begin(), names.end(), others[o]) - names.begin();
    const size_t number = by_name ? static_cast<size_t>(found) : o;
    stack.emplace_back(given.outputs()[number].node_ptr(), compared.outputs()[o].node_ptr());
  }
  while (!stack.empty()) {
    const auto [node, now] = stack.back();
    stack.pop_back();
    if (!becoming.emplace(node.get(), now).second || !AreAlike(*node, *now)) continue;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      stack.emplace_back(node->inputs()[i].node_ptr(), now->inputs()[i].node_ptr());
    }
  }
  return becoming;
}

// The operators that compute `end`, back to others that are in `known`.
std::vector<const Node*> OperatorsUpTo(const Value& end, const NodeSet& known) {
  std::vector<const Node*> found;
  NodeSet seen;
  std::vector<const Node*> stack = {&end.node()};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    const bool is_known = node != &end.node() && known.contains(node);
    if (!node->is_op() || is_known || !seen.insert(node).second) continue;
    found.push_back(node);
    for (const Value& operand : node->inputs()) stack.push_back(&operand.node());
  }
  return found;
}

// The operators of which `cut` is a copy; its output is a copy of `end`.
std::vector<const Node*> CopiedBy(const Graph& cut, const Value& end) {
  std::vector<const Node*> found;
  NodeSet seen;
  std::vector<std::pair<const Node*, const Node*>> stack = {
      {&cut.outputs()[0].node(), &end.node()}};
  while (!stack.empty()) {
    const auto [copy, node] = stack.back();
    stack.pop_back();
    if (!AreAlike(*copy, *node) || !seen.insert(node).second) continue;
    found.push_back(node);
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      stack.emplace_back(&copy->inputs()[i].node(), &node->inputs()[i].node());
    }
  }
  return found;
}

std::vector<std::string> NamesOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_op()) names.push_back(node->op().name);
  }
  return names;
}

// A part, and the values at which it ends: of the first graph, and of the compared one.
struct End {
  AlignedPart part;
  Value before, after;
  const referee::DifferentPair* pair = nullptr;
};

class Aligner {
 public:
  Aligner(const Graph& before, const Graph& after, const referee::RefereeResult& verdict)
      : before_(before), after_(after), verdict_(verdict) {}

  Alignment Run() {
    if (verdict_.compared.outputs().empty()) return {};
    for (const NodePtr& node : before_.nodes()) in_before_.insert(node.get());
    partners_.insert(verdict_.equal.begin(), verdict_.equal.end());
    for (const NodePtr& node : verdict_.compared.nodes()) {
      for (int o = 0; o < node->num_outputs(); ++o) {
        const Value partner = PartnerOf(Value(node, o));
        if (!partner) continue;
        aligned_.insert(node.get());
        images_.insert(&partner.node());
      }
    }
    CollectEnds();
    PlaceAll();
    PlaceBehind(before_, &result_.before, {});
    PlaceBehind(after_, &result_.after, differs_);
    return std::move(result_);
  }

 private:
  // The value of the first graph that a value of the compared one is equal to.
  Value PartnerOf(const Value& value) const {
    if (auto it = partners_.find(value); it != partners_.end()) return it->second;
    return in_before_.contains(&value.node()) ? value : Value();
  }

  // The node of the first graph that is the same operator on equal operands; null: none.
  const Node* SameAs(const NodePtr& node) const {
    if (node == nullptr || !node->is_op()) return nullptr;
    const Value partner = PartnerOf(Value(node, 0));
    if (!partner || !AreAlike(*node, partner.node()) || node->attrs() != partner.node().attrs()) {
      return nullptr;
    }
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (PartnerOf(node->inputs()[i]) != partner.node().inputs()[i]) return nullptr;
    }
    return &partner.node();
  }

  void CollectEnds() {
    const auto& refutation = verdict_.refutation;
    if (refutation && refutation->pair && refutation->pair->before_value) {
      const referee::DifferentPair& pair = *refutation->pair;
      End end{{Standing::kRefuted, std::nullopt, pair.before_label, pair.after_label,
               NamesOf(pair.before), NamesOf(pair.after), ""},
              pair.before_value,
              pair.after_value,
              &pair};
      ends_.push_back(std::move(end));
    }
    for (const referee::OpenRegion& open : verdict_.open) {
      ends_.push_back(
          {{Standing::kOpen, std::nullopt, open.before, open.after, {}, {}, open.reason},
           open.before_value,
           open.after_value});
    }
    absl::flat_hash_set<Value> recorded;
    for (const referee::ProvedRegion& region : verdict_.regions) {
      recorded.insert(region.after_value);
      ends_.push_back({{Standing::kProved, region.contract, region.before, region.after,
                        region.before_operators, region.after_operators,
                        std::string(absl::StripPrefix(region.condition, ", "))},
                       region.before_value,
                       region.after_value});
    }
    // A refutation has no list of regions.
    for (const auto& [value, partner] : verdict_.equal) {
      if (!value.node().is_op() || recorded.contains(value) || SameAs(value.node_ptr())) continue;
      ends_.push_back({{Standing::kProved,
                        std::nullopt,
                        std::string(before_.LabelOf(partner)),
                        std::string(verdict_.compared.LabelOf(value)),
                        {},
                        {},
                        ""},
                       partner,
                       value});
    }
  }

  void PlaceAll() {
    for (const auto& [node, now] : BecomingOf(after_, verdict_.compared)) {
      becoming_[node] = now;
      if (node->is_op()) given_[now.get()].push_back(node);
    }
    absl::flat_hash_map<const Node*, std::vector<size_t>> ends_at;
    for (size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i].after) ends_at[&ends_[i].after.node()].push_back(i);
    }
    std::vector<bool> placed(ends_.size());
    int run = -1;  // the part of operators that are the same, to which the next one may belong
    for (const NodePtr& node : after_.nodes()) {
      auto now = becoming_.find(node.get());
      if (now == becoming_.end()) continue;
      if (!node->is_op()) {
        if (AddComputedWeight(node, Value(now->second, 0))) run = -1;
        continue;
      }
      if (const Node* same = SameAs(now->second)) run = AddSame(node, *same, run);
      for (size_t i : ends_at[now->second.get()]) {
        if (placed[i]) continue;
        placed[i] = true;
        PlacePart(&ends_[i]);
        run = -1;
      }
    }
    for (size_t i = 0; i < ends_.size(); ++i) {
      if (!placed[i]) PlacePart(&ends_[i]);
    }
  }

  int AddSame(const NodePtr& node, const Node& same, int run) {
    if (run < 0) {
      run = static_cast<int>(result_.parts.size());
      result_.parts.emplace_back().standing = Standing::kSame;
    }
    AlignedPart& part = result_.parts[run];
    for (auto* operators : {&part.before_operators, &part.after_operators}) {
      operators->push_back(node->op().name);
    }
    part.after = std::string(after_.LabelOf(Value(node, 0)));
    result_.after.emplace(node.get(), PartOfOperator{Standing::kSame, run});
    result_.before.emplace(&same, PartOfOperator{Standing::kSame, run});
    return run;
  }

  // A weight that the first graph computes; whether it is one.
  bool AddComputedWeight(const NodePtr& node, const Value& now) {
    const Value partner = PartnerOf(now);
    if (!partner || !partner.node().is_op()) return false;
    AlignedPart part;
    part.standing = Standing::kProved;
    part.before = std::string(before_.LabelOf(partner));
    part.after = std::string(after_.LabelOf(Value(node, 0)));
    part.note = "a weight now";
    const PartOfOperator place{part.standing, static_cast<int>(result_.parts.size())};
    std::vector<std::string> names;
    for (const Node* computes : OperatorsUpTo(partner, {})) {
      PlaceAt(computes, place, &result_.before);
      names.push_back(computes->op().name);
    }
    SetNames(names, &part.before_operators);
    result_.parts.push_back(std::move(part));
    return true;
  }

  void PlacePart(End* end) {
    const PartOfOperator place{end->part.standing, static_cast<int>(result_.parts.size())};
    std::vector<const Node*> before, after;
    if (end->pair != nullptr) {
      before = CopiedBy(end->pair->before, end->before);
      after = CopiedBy(end->pair->after, end->after);
      differs_.insert(&end->after.node());
    } else if (end->before && end->after) {
      // A value that is equal to another one belongs to another part; this one tells how the other
      // graph goes on.
      const Value partner = PartnerOf(end->after);
      const bool are_equal = partner && partner == end->before;
      if (are_equal || !images_.contains(&end->before.node())) {
        before = OperatorsUpTo(end->before, images_);
      }
      if (are_equal || !partner) after = OperatorsUpTo(end->after, aligned_);
    }
    std::vector<std::string> before_names, after_names;
    for (const Node* node : before) {
      if (!in_before_.contains(node)) continue;
      PlaceAt(node, place, &result_.before);
      before_names.push_back(node->op().name);
    }
    for (const Node* now : after) {
      const std::vector<const Node*>& given = given_[now];
      if (given.empty()) continue;  // it computes an explained weight
      for (const Node* node : given) PlaceAt(node, place, &result_.after);
      after_names.push_back(now->op().name);
    }
    // The verdict's names include the operators that compute explained weights.
    SetNames(before_names, &end->part.before_operators);
    SetNames(after_names, &end->part.after_operators);
    result_.parts.push_back(std::move(end->part));
  }

  // `found`: from the last operator to the first ones.
  static void SetNames(const std::vector<std::string>& found, std::vector<std::string>* names) {
    if (!found.empty()) names->assign(found.rbegin(), found.rend());
  }

  static void PlaceAt(const Node* node, const PartOfOperator& place, Places* places) {
    const bool added = places->emplace(node, place).second;
    if (!added && place.standing == Standing::kRefuted) (*places)[node] = place;
  }

  // `differs`: nodes of the compared graph whose values differ.
  void PlaceBehind(const Graph& graph, Places* places, const NodeSet& differs) const {
    auto is_wrong = [&](const Node& node) {
      auto it = places->find(&node);
      if (it != places->end() && it->second.standing == Standing::kRefuted) return true;
      if (it != places->end() && it->second.standing == Standing::kBehind) return true;
      auto now = becoming_.find(&node);
      return now != becoming_.end() && differs.contains(now->second.get());
    };
    for (const NodePtr& node : graph.nodes()) {
      if (!node->is_op() || places->contains(node.get())) continue;
      const bool is_behind =
          std::any_of(node->inputs().begin(), node->inputs().end(),
                      [&](const Value& operand) { return is_wrong(operand.node()); });
      if (is_behind) places->emplace(node.get(), PartOfOperator{Standing::kBehind, -1});
    }
  }

  const Graph &before_, &after_;
  const referee::RefereeResult& verdict_;
  NodeSet in_before_;
  NodeSet images_;   // of the first graph: equal to a value of the compared one
  NodeSet aligned_;  // of the compared graph: equal to a value of the first one
  NodeSet differs_;
  absl::flat_hash_map<Value, Value> partners_;
  absl::flat_hash_map<const Node*, NodePtr> becoming_;                // by node of `after`
  absl::flat_hash_map<const Node*, std::vector<const Node*>> given_;  // the other way
  std::vector<End> ends_;
  Alignment result_;
};

}  // namespace

Alignment Align(const Graph& before, const Graph& after, const referee::RefereeResult& verdict) {
  return Aligner(before, after, verdict).Run();
}

}  // namespace lemma::api
