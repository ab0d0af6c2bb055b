#include "runtime/plan/schedule.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/barrier.h"

namespace lemma {
namespace {

class Scheduler {
 public:
  explicit Scheduler(const Graph& graph) : graph_(graph) {
    const std::vector<NodePtr>& nodes = graph.nodes();
    for (size_t i = 0; i < nodes.size(); ++i) position_[nodes[i].get()] = static_cast<int>(i);
    before_.resize(nodes.size());
    level_.assign(nodes.size(), 0);
    offloads_.resize(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (IsOffload(*nodes[i])) {
        offloads_[PositionOf(nodes[i]->inputs()[0])].push_back(static_cast<int>(i));
      }
      for (const Value& v : nodes[i]->inputs()) {
        level_[i] = std::max(level_[i], level_[PositionOf(v)] + 1);
      }
    }
  }

  std::vector<NodePtr> Run() {
    ReadBeforeWritten();
    while (!TryAll()) {
    }
    return std::move(order_);
  }

 private:
  enum class State { kNew, kOpen, kDone };

  int PositionOf(const Value& v) const { return position_.at(&v.node()); }

  // Records readers of state variables, which must come before the node that computes the new
  // value.
  void ReadBeforeWritten() {
    absl::flat_hash_map<int, int> writer;  // input's node -> new value's
    for (const StatePair& pair : StatePairs(graph_)) {
      const Value& next = graph_.outputs()[pair.output];
      if (next.node().is_op()) writer[PositionOf(graph_.inputs()[pair.input])] = PositionOf(next);
    }
    if (writer.empty()) return;
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const int reader = static_cast<int>(i);
      for (const Value& v : graph_.nodes()[i]->inputs()) {
        auto it = writer.find(PositionOf(v));
        if (it == writer.end() || it->second == reader) continue;
        const int write = it->second;
        before_[write].push_back(reader);
        // A reader of a view of the old value reads the old value.
        if (MovesData(*graph_.nodes()[i])) writer[reader] = write;
      }
    }
  }

  // Whether each result only has its operand's elements at other places: they may share memory.
  static bool MovesData(const Node& node) {
    if (!node.is_op() || node.inputs().size() != 1) return false;
    const auto definition = DefinitionOf(node);
    return definition.ok() && std::all_of(definition->tensors.begin(), definition->tensors.end(),
                                          [](const TensorExpr& t) {
                                            return t.body.kind() == ScalarExpr::Kind::kRead;
                                          });
  }

  // Returns false if an entry of before_ contradicts the operands, and removes that entry.
  bool TryAll() {
    order_.clear();
    state_.assign(graph_.nodes().size(), State::kNew);
    std::vector<int> outputs(graph_.outputs().size());
    std::iota(outputs.begin(), outputs.end(), 0);
    std::stable_sort(outputs.begin(), outputs.end(), [&](int a, int b) {
      return level_[PositionOf(graph_.outputs()[a])] < level_[PositionOf(graph_.outputs()[b])];
    });
    for (const Value& v : graph_.inputs()) Visit(PositionOf(v));
    return std::all_of(outputs.begin(), outputs.end(),
                       [&](int output) { return Visit(PositionOf(graph_.outputs()[output])); });
  }

  // Depth first: the operands, then the nodes that must come before this one.
  bool Visit(int root) {
    if (state_[root] != State::kNew) return true;
    state_[root] = State::kOpen;
    std::vector<std::pair<int, size_t>> stack = {{root, 0}};
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      const std::vector<Value>& operands = graph_.nodes()[node]->inputs();
      if (next == operands.size() + before_[node].size()) {
        Finish(node);
        stack.pop_back();
        continue;
      }
      const bool is_operand = next < operands.size();
      const int other =
          is_operand ? PositionOf(operands[next]) : before_[node][next - operands.size()];
      ++next;
      if (state_[other] == State::kNew) {
        state_[other] = State::kOpen;
        stack.emplace_back(other, 0);
      } else if (state_[other] == State::kOpen && is_operand) {
        // A reader of the old value depends on the new value.
        for (auto it = stack.rbegin(); it != stack.rend(); ++it) {
          if (it->second > graph_.nodes()[it->first]->inputs().size()) before_[it->first].clear();
          if (it->first == other) break;
        }
        return false;
      }
    }
    return true;
  }

  void Finish(int node) {
    state_[node] = State::kDone;
    order_.push_back(graph_.nodes()[node]);
    for (int offload : offloads_[node]) {
      if (state_[offload] == State::kNew) Finish(offload);
    }
  }

  const Graph& graph_;
  absl::flat_hash_map<const Node*, int> position_;
  std::vector<State> state_;
  std::vector<std::vector<int>> before_;
  std::vector<std::vector<int>> offloads_;  // by node: the offloads of its values
  std::vector<int> level_;                  // length of the longest path to the node
  std::vector<NodePtr> order_;
};

}  // namespace

std::vector<NodePtr> ScheduleNodes(const Graph& graph) { return Scheduler(graph).Run(); }

}  // namespace lemma
