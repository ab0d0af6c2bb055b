#include "runtime/staged/cut.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/op_table.h"
#include "graph/sizes/specialize.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"
#include "runtime/staged/choice.h"

namespace lemma {
namespace {

// The number of conditions that both begin with.
size_t Common(const std::vector<RunCondition>& a, const std::vector<RunCondition>& b) {
  size_t same = 0;
  while (same < std::min(a.size(), b.size()) && a[same].condition == b[same].condition &&
         a[same].holds == b[same].holds) {
    ++same;
  }
  return same;
}

class Cutter {
 public:
  explicit Cutter(const Graph& graph)
      : graph_(graph), uses_(graph), conditions_(RunConditions(uses_, [this](const Node& node) {
          return ChoiceOf(node, traits_);
        })) {
    stage_of_.assign(uses_.nodes.size(), -1);
  }

  absl::StatusOr<std::vector<Stage>> Run() {
    for (size_t n = 0; n < uses_.nodes.size(); ++n) {
      if (IsCutAt(static_cast<int>(n))) CutBefore(static_cast<int>(n));
    }
    std::vector<int> rest;
    for (size_t n = 0; n < uses_.nodes.size(); ++n) {
      if (uses_.nodes[n]->is_op() && stage_of_[n] < 0) rest.push_back(static_cast<int>(n));
    }
    Add(std::move(rest), {});
    for (size_t i = 0; i < stages_.size(); ++i) {
      if (stages_[i].call != nullptr) continue;
      absl::Status s = Build(static_cast<int>(i));
      if (!s.ok()) return s;
    }
    return std::move(stages_);
  }

 private:
  // Opaque nodes are stages of their own. So is what is not always executed and has sizes that an
  // opaque node determines: without it they are 0, which the node need not take. A node without
  // operands, which gives such sizes, may precede the opaque node; it is in the stage of its
  // reader.
  bool IsCutAt(int n) const {
    const Node& node = *uses_.nodes[n];
    if (node.is_op() && node.inputs().empty()) return IsCall(node);
    if (!node.is_op() || IsCall(node)) return node.is_op();
    const auto is_open = [](const Value& v) { return HasResultSize(v.shape()); };
    const bool reads = std::any_of(node.inputs().begin(), node.inputs().end(), is_open);
    return !conditions_[n].empty() && (reads || IsSymbolic(node));
  }

  // What node n needs, in parts: those that are executed if the first of its conditions hold, for
  // each number of them. If n chooses, two more parts: what it reads only if it takes one side.
  void CutBefore(int n) {
    const std::vector<RunCondition>& own = conditions_[n];
    const std::optional<Choice> choice =
        IsCall(*uses_.nodes[n]) ? ChoiceOf(*uses_.nodes[n], traits_) : std::nullopt;
    std::vector<RunCondition> sides[2] = {own, own};  // else, then
    if (choice) {
      const Value& condition = uses_.nodes[n]->inputs()[static_cast<size_t>(choice->condition)];
      for (const bool holds : {false, true}) sides[holds].push_back({condition, holds});
    }
    std::vector<std::vector<int>> parts(own.size() + 3);
    absl::flat_hash_map<int, size_t> part_of;
    // An operand is computed no later than its reader. `of`: the conditions under which n reads it.
    auto need = [&](const Value& v, size_t at_most, const std::vector<RunCondition>& of) {
      std::vector<std::pair<int, size_t>> open = {{uses_.NodeOf(v.node()), at_most}};
      while (!open.empty()) {
        const auto [node, limit] = open.back();
        open.pop_back();
        if (!uses_.nodes[node]->is_op() || stage_of_[node] >= 0) continue;
        size_t part = std::min(limit, Common(conditions_[node], of));
        if (part == own.size() + 1 && of[own.size()].holds) ++part;
        auto [known, is_new] = part_of.emplace(node, part);
        if (!is_new && known->second <= part) continue;
        known->second = part;
        for (const Value& input : uses_.nodes[node]->inputs()) {
          open.emplace_back(uses_.NodeOf(input.node()), part);
        }
      }
    };
    for (size_t i = 0; i < own.size(); ++i) need(own[i].condition, i, own);
    for (size_t i = 0; i < uses_.nodes[n]->inputs().size(); ++i) {
      const Choice::Side side = choice ? choice->sides[i] : Choice::Side::kBoth;
      const std::vector<RunCondition>& of =
          side == Choice::Side::kBoth ? own : sides[side == Choice::Side::kThen];
      need(uses_.nodes[n]->inputs()[i], of.size(), of);
    }
    for (const auto& [node, part] : part_of) parts[part].push_back(node);
    for (size_t i = 0; i <= own.size(); ++i) {
      AddPart(std::move(parts[i]), {own.begin(), own.begin() + static_cast<std::ptrdiff_t>(i)});
    }
    for (const bool holds : {false, true}) {
      if (choice) AddPart(std::move(parts[own.size() + 1 + (holds ? 1 : 0)]), sides[holds]);
    }
    if (stage_of_[n] < 0) Add({n}, own);
  }

  void AddPart(std::vector<int> nodes, std::vector<RunCondition> conditions) {
    std::sort(nodes.begin(), nodes.end());
    Add(std::move(nodes), std::move(conditions));
  }

  void Add(std::vector<int> nodes, std::vector<RunCondition> conditions) {
    const bool is_call = nodes.size() == 1 && IsCall(*uses_.nodes[nodes[0]]);
    Stage stage;
    stage.conditions = std::move(conditions);
    if (is_call) {
      stage.call = uses_.nodes[nodes[0]];
      stage.inputs = stage.call->inputs();
      for (int k = 0; k < stage.call->num_outputs(); ++k) {
        stage.outputs.emplace_back(stage.call, k);
      }
    }
    for (int node : nodes) stage_of_[node] = static_cast<int>(stages_.size());
    members_.push_back(std::move(nodes));
    stages_.push_back(std::move(stage));
  }

  // Whether a value is read in other stages than its own. The last stage gives the graph's outputs.
  bool IsReadElsewhere(const Value& v, int stage) const {
    const std::vector<Value>& outputs = graph_.outputs();
    if (std::find(outputs.begin(), outputs.end(), v) != outputs.end()) return true;
    for (int user : uses_.Users(v)) {
      if (stage_of_[user] != stage) return true;
    }
    return std::any_of(stages_.begin(), stages_.end(), [&](const Stage& other) {
      return std::any_of(other.conditions.begin(), other.conditions.end(),
                         [&](const RunCondition& c) { return c.condition == v; });
    });
  }

  // The graph of a stage.
  absl::Status Build(int stage) {
    Stage& result = stages_[stage];
    GraphBuilder builder(graph_.name());
    absl::flat_hash_map<Value, Value> made;
    auto operand = [&](const Value& v) -> Value {
      if (!v.node().is_op() && v.node().kind() != Node::Kind::kInput) return v;
      auto [entry, is_new] = made.try_emplace(v);
      if (is_new) {
        entry->second = builder.Input(absl::StrCat("i", result.inputs.size()), v.type());
        result.inputs.push_back(v);
      }
      return entry->second;
    };
    for (int n : members_[stage]) {
      const Node& node = *uses_.nodes[n];
      std::vector<Value> inputs;
      for (const Value& input : node.inputs()) inputs.push_back(operand(input));
      const NodePtr copy = Node::Apply(&node.op(), std::move(inputs), node.attrs(), node.types());
      result.origin.emplace(copy.get(), uses_.nodes[n]);
      for (int k = 0; k < node.num_outputs(); ++k) {
        const Value v(uses_.nodes[n], k);
        made[v] = Value(copy, k);
        const absl::string_view label = graph_.LabelOf(v);
        if (!label.empty()) builder.Label(made[v], std::string(label));
      }
    }
    const bool is_last = stage + 1 == static_cast<int>(stages_.size());
    if (is_last) result.outputs = graph_.outputs();
    for (int n : members_[stage]) {
      for (int k = 0; !is_last && k < uses_.nodes[n]->num_outputs(); ++k) {
        const Value v(uses_.nodes[n], k);
        if (IsReadElsewhere(v, stage)) result.outputs.push_back(v);
      }
    }
    if (result.outputs.empty()) return absl::OkStatus();  // nothing to execute
    for (size_t i = 0; i < result.outputs.size(); ++i) {
      builder.Output(is_last ? graph_.output_names()[i] : absl::StrCat("o", i),
                     operand(result.outputs[i]));
    }
    absl::StatusOr<Graph> built = std::move(builder).Build();
    if (!built.ok()) return built.status();
    result.part = *std::move(built);
    return absl::OkStatus();
  }

  const Graph& graph_;
  const UseTable uses_;
  NodeTraitsCache traits_;
  const std::vector<std::vector<RunCondition>> conditions_;  // by node
  std::vector<int> stage_of_;                                // by node
  std::vector<std::vector<int>> members_;                    // by stage: nodes, operands first
  std::vector<Stage> stages_;
};

}  // namespace

bool IsCall(const Node& node) { return &node.op() == FindOp("opaque"); }

absl::StatusOr<std::vector<Stage>> Cut(const Graph& graph) { return Cutter(graph).Run(); }

}  // namespace lemma
