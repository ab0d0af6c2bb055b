#include "graph/onnx/origin/planner.h"

#include <algorithm>

namespace lemma {
namespace {

// Nodes of one operator that are compared with a value whose users do not know its name.
constexpr size_t kMaxCandidates = 64;

}  // namespace

Planner::Planner(const Graph& graph, const OnnxOrigin& origin,
                 const absl::flat_hash_set<int>& banned)
    : graph_(graph), origin_(origin), banned_(banned) {
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    position_[graph.nodes()[i].get()] = static_cast<int>(i);
  }
  for (const auto& [name, value] : origin.initializers) values_[name] = value;
  for (const auto& output : origin.model.graph().output()) read_.insert(output.name());
  for (int i = 0; i < static_cast<int>(origin.nodes.size()); ++i) {
    const OriginNode& node = origin.nodes[i];
    for (const auto& [name, value] : node.inputs) {
      values_[name] = value;
      read_.insert(name);
    }
    for (int k = 0; k < static_cast<int>(node.outputs.size()); ++k) {
      const auto& [name, value] = node.outputs[k];
      values_[name] = value;
      if (node.makes_list || banned.contains(i)) continue;
      maker_[name] = i;
      by_value_[value].push_back(name);
      if (value.node().is_op()) by_operator_[HashApplication(value.node())].emplace_back(i, k);
    }
  }
}

void Planner::Demand(const Value& value, const std::string& wish) {
  demanded_.insert(value);
  if (wish.empty()) return;
  if (value.node().has_payload()) {
    leaf_wishes_.emplace_back(value, wish);
    return;
  }
  std::vector<std::string>& wishes = wishes_[value];
  if (std::find(wishes.begin(), wishes.end(), wish) == wishes.end()) wishes.push_back(wish);
}

void Planner::Name(const std::string& name, const Value& value, bool is_source) {
  plan_.named[name] = value;
  if (is_source) plan_.names.emplace(value, name);
}

bool Planner::IsFree(const std::string& name, const Value& value) const {
  auto named = plan_.named.find(name);
  if (named != plan_.named.end()) return false;
  auto reserved = reserved_.find(name);
  return reserved == reserved_.end() || reserved->second == value;
}

bool Planner::BindRest(const OriginNode& node, const Value& value, Binder* binder) const {
  auto at = position_.find(&value.node());
  for (const auto& [name, input] : node.inputs) {
    if (binder->Bound(input)) continue;
    Value chosen = input;
    if (input.node().is_op()) {
      // The value of that name, or the same value as before, if they come before this one.
      auto named = plan_.named.find(name);
      if (named != plan_.named.end()) chosen = named->second;
      auto place = position_.find(&chosen.node());
      if (at == position_.end() || place == position_.end() || place->second >= at->second) {
        return false;
      }
    }
    if (!binder->Bind(input, chosen)) return false;
  }
  return true;
}

bool Planner::Keep(int number, const std::string& name, const Value& value) {
  if (plan_.kept.count(number) != 0) return false;
  const OriginNode& node = origin_.nodes[number];
  Binder binder(node);
  if (!binder.Match(values_.at(name), value) || !BindRest(node, value, &binder)) return false;
  std::vector<Value> made;
  for (const auto& [output, expression] : node.outputs) {
    made.push_back(output == name ? value : binder.Apply(expression));
    if (!IsFree(output, made.back())) return false;
  }
  KeptNode& kept = plan_.kept[number];
  for (const auto& [input, expression] : node.inputs) {
    kept.inputs.push_back(binder.Bound(expression));
    Demand(kept.inputs.back(), input);
  }
  for (size_t i = 0; i < made.size(); ++i) {
    // A node that passes a value on, such as Identity, gives it another name only.
    const bool passes =
        std::find(kept.inputs.begin(), kept.inputs.end(), made[i]) != kept.inputs.end();
    Name(node.outputs[i].first, made[i], !passes);
  }
  for (const Node* body : binder.Body()) {
    if (position_.contains(body)) kept.body.insert(body);
  }
  return true;
}

bool Planner::Grant(const std::string& name, const Value& value) {
  auto named = plan_.named.find(name);
  if (named != plan_.named.end()) return named->second == value;
  auto maker = maker_.find(name);
  return maker != maker_.end() && IsFree(name, value) && Keep(maker->second, name, value);
}

bool Planner::GrantWishes(const Value& value) {
  for (size_t i = 0; i < wishes_[value].size(); ++i) {  // grows while names are passed on
    const std::string wish = wishes_[value][i];
    Grant(wish, value);
  }
  return plan_.names.contains(value);
}

bool Planner::FindByOperator(const Value& value) {
  auto candidates = by_operator_.find(HashApplication(value.node()));
  if (candidates == by_operator_.end()) return false;
  int best_score = 0;
  std::pair<int, int> best;
  size_t tried = 0;
  for (const auto& candidate : candidates->second) {
    const OriginNode& node = origin_.nodes[candidate.first];
    if (plan_.kept.count(candidate.first) != 0) continue;
    if (++tried > kMaxCandidates) break;
    Binder binder(node);
    if (!binder.Match(node.outputs[candidate.second].second, value)) continue;
    int score = 0;  // inputs that are what they were; those of many nodes say nothing
    for (const auto& [name, input] : node.inputs) {
      const Value bound = binder.Bound(input);
      if (bound == input && input.node().kind() != Node::Kind::kConstant) ++score;
    }
    if (score <= best_score) continue;
    best_score = score;
    best = candidate;
  }
  if (best_score == 0) return false;
  return Grant(origin_.nodes[best.first].outputs[best.second].first, value);
}

bool Planner::FindSource(const Value& value) {
  auto has_source = [&] { return plan_.names.contains(value); };
  if (GrantWishes(value)) return true;
  auto names = by_value_.find(value);
  if (names != by_value_.end()) {
    for (const std::string& name : names->second) {
      if (Grant(name, value) && GrantWishes(value)) return true;
    }
  }
  const std::string label(graph_.LabelOf(value));
  if (!label.empty() && Grant(label, value) && GrantWishes(value)) return true;
  return FindByOperator(value) && (has_source() || GrantWishes(value));
}

void Planner::PlanOp(const NodePtr& node) {
  bool is_spelled = false;
  for (int k = 0; k < node->num_outputs(); ++k) {
    const Value value(node, k);
    if (demanded_.contains(value) && !FindSource(value)) is_spelled = true;
  }
  if (!is_spelled) return;
  plan_.spelled.insert(node.get());
  for (const Value& input : node->inputs()) Demand(input, "");
}

// Names a constant or weight like the initializer that it was, or like the output of the node that
// made it.
bool Planner::GrantLeaf(const std::string& name, const Value& value) {
  auto named = plan_.named.find(name);
  if (named != plan_.named.end()) return named->second == value;
  auto known = values_.find(name);
  if (known == values_.end() || known->second != value || !IsFree(name, value)) return false;
  if (origin_.initializers.contains(name)) {
    plan_.initializers.insert(name);
    Name(name, value, true);
    return true;
  }
  auto maker = maker_.find(name);
  if (maker == maker_.end() || plan_.kept.count(maker->second) != 0) return false;
  const OriginNode& node = origin_.nodes[maker->second];
  KeptNode kept;
  for (const auto& [input, expression] : node.inputs) {
    Value chosen = expression;
    if (!expression.node().has_payload()) {  // only its type matters, as to Shape
      auto source = plan_.named.find(input);
      if (source == plan_.named.end() || source->second.type() != expression.type()) return false;
      chosen = source->second;
    }
    kept.inputs.push_back(chosen);
  }
  for (const auto& [output, made] : node.outputs) {
    if (!made.node().has_payload() || !IsFree(output, made)) return false;
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) Demand(kept.inputs[i], node.inputs[i].first);
  for (const auto& [output, made] : node.outputs) {
    const bool passes =
        std::find(kept.inputs.begin(), kept.inputs.end(), made) != kept.inputs.end();
    Name(output, made, !passes);
  }
  plan_.kept[maker->second] = std::move(kept);
  return true;
}

void Planner::PlanLeaves() {
  for (size_t i = 0; i < leaf_wishes_.size(); ++i) {  // grows
    const auto [value, wish] = leaf_wishes_[i];
    GrantLeaf(wish, value);
  }
  // In an order that does not depend on addresses.
  std::vector<std::pair<std::string, Value>> initializers(origin_.initializers.begin(),
                                                          origin_.initializers.end());
  std::sort(initializers.begin(), initializers.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [name, value] : initializers) {
    if (demanded_.contains(value) && !plan_.names.contains(value)) GrantLeaf(name, value);
  }
  absl::flat_hash_set<Value> seen;
  auto spell = [&](const Value& value) {
    if (!value.node().has_payload() || !demanded_.contains(value)) return;
    if (plan_.names.contains(value) || !seen.insert(value).second) return;
    plan_.spelled.insert(&value.node());
    if (!position_.contains(&value.node())) plan_.leaves.push_back(value);
  };
  for (const NodePtr& node : graph_.nodes()) spell(Value(node, 0));
  for (const auto& [value, wish] : leaf_wishes_) {
    spell(value);
    if (!plan_.names.contains(value)) plan_.wished.emplace(value, wish);
  }
}

void Planner::NameSpelled() {
  for (const NodePtr& node : graph_.nodes()) {
    if (!node->is_op() || !plan_.spelled.contains(node.get())) continue;
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Value value(node, k);
      auto wishes = wishes_.find(value);
      if (wishes == wishes_.end() || plan_.names.contains(value)) continue;
      for (const std::string& wish : wishes->second) {
        if (!IsFree(wish, value)) continue;
        plan_.wished.emplace(value, wish);
        plan_.named[wish] = value;
        break;
      }
    }
  }
}

OriginPlan Planner::Run() {
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    Name(graph_.input_names()[i], graph_.inputs()[i], true);
  }
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    reserved_.emplace(graph_.output_names()[i], graph_.outputs()[i]);
    Demand(graph_.outputs()[i], graph_.output_names()[i]);
  }
  for (auto it = graph_.nodes().rbegin(); it != graph_.nodes().rend(); ++it) {
    const NodePtr& node = *it;
    if (node->is_op()) {
      PlanOp(node);
    } else if (!node->has_payload()) {
      GrantWishes(Value(node, 0));
      if (node->kind() == Node::Kind::kWeight) plan_.spelled.insert(node.get());
    }
  }
  NameSpelled();
  PlanLeaves();
  return std::move(plan_);
}

bool Planner::IsPartlyUsed(int number, const OriginPlan& plan) const {
  const OriginNode& node = origin_.nodes[number];
  if (origin_.model.graph().node(node.nodes.back()).op_type() != "If") return false;
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](const NamedValue& output) {
    return read_.contains(output.first) && !demanded_.contains(plan.named.at(output.first));
  });
}

}  // namespace lemma
