#include "graph/onnx/node_order.h"

#include <algorithm>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

using Names = std::vector<std::string>;

// For each node, the nodes that make its inputs.
absl::StatusOr<std::vector<std::vector<int>>> FindProducers(
    const std::vector<Names>& reads, const NodeList& nodes,
    const absl::flat_hash_map<std::string, int>& maker,
    const std::function<bool(const std::string&)>& given) {
  std::vector<std::vector<int>> producers(nodes.size());
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : reads[i]) {
      auto it = maker.find(name);
      if (it != maker.end()) {
        producers[i].push_back(it->second);
      } else if (!given(name)) {
        return absl::InvalidArgumentError(
            absl::StrCat(Describe(nodes[i]), ": its input '", name,
                         "' is no graph input, no initializer and no node's output"));
      }
    }
  }
  return producers;
}

// Depth first, so that nodes already in order keep it. Not recursive, since graphs can be deep.
absl::StatusOr<std::vector<int>> Sort(const NodeList& nodes,
                                      const std::vector<std::vector<int>>& producers) {
  enum State : char { kNew, kOpen, kDone };
  std::vector<State> state(nodes.size(), kNew);
  std::vector<int> order;
  std::vector<std::pair<int, size_t>> stack;  // node, operands visited
  for (int root = 0; root < nodes.size(); ++root) {
    if (state[root] != kNew) continue;
    state[root] = kOpen;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == producers[node].size()) {
        state[node] = kDone;
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      int operand = producers[node][next++];
      if (state[operand] == kOpen) {
        return absl::InvalidArgumentError(
            absl::StrCat(Describe(nodes[operand]), " lies on a cycle"));
      }
      if (state[operand] == kNew) {
        state[operand] = kOpen;
        stack.push_back({operand, 0});
      }
    }
  }
  return order;
}

void AddCaptured(const onnx::GraphProto& graph, Names* names) {
  for (std::string& name : CapturedNames(graph)) names->push_back(std::move(name));
}

}  // namespace

std::string Describe(const onnx::NodeProto& node) {
  if (!node.name().empty()) return absl::StrCat("node '", node.name(), "' (", node.op_type(), ")");
  return absl::StrCat("node of '", node.output_size() > 0 ? node.output(0) : "", "' (",
                      node.op_type(), ")");
}

std::vector<std::string> CapturedNames(const onnx::GraphProto& graph) {
  absl::flat_hash_set<std::string> defined;
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : graph.node()) defined.insert(node.output().begin(), node.output().end());
  Names captured;
  auto use = [&](const std::string& name) {
    if (defined.insert(name).second) captured.push_back(name);
  };
  for (const auto& node : graph.node()) {
    for (const std::string& name : NamesRead(node)) use(name);
  }
  for (const auto& output : graph.output()) use(output.name());
  return captured;
}

std::vector<std::string> NamesRead(const onnx::NodeProto& node) {
  Names names;
  for (const std::string& name : node.input()) {
    if (!name.empty()) names.push_back(name);
  }
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) AddCaptured(attribute.g(), &names);
    for (const auto& graph : attribute.graphs()) AddCaptured(graph, &names);
  }
  return names;
}

absl::StatusOr<NodeOrder> OrderNodes(const NodeList& nodes,
                                     const std::function<bool(const std::string&)>& given,
                                     const std::vector<std::string>& outputs) {
  absl::flat_hash_map<std::string, int> maker;
  std::vector<Names> reads(nodes.size());
  for (int i = 0; i < nodes.size(); ++i) {
    reads[i] = NamesRead(nodes[i]);
    for (const std::string& name : nodes[i].output()) {
      if (name.empty()) continue;
      if (given(name) || !maker.emplace(name, i).second) {
        return absl::InvalidArgumentError(
            absl::StrCat(Describe(nodes[i]), ": its output '", name, "' is defined twice"));
      }
    }
  }
  auto producers = FindProducers(reads, nodes, maker, given);
  if (!producers.ok()) return producers.status();
  auto sorted = Sort(nodes, *producers);
  if (!sorted.ok()) return sorted.status();

  std::set<std::string> used;
  std::vector<char> live(nodes.size(), 0);
  for (const std::string& name : outputs) {
    auto it = maker.find(name);
    if (it == maker.end() && !given(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output '", name, "' is no graph input, no initializer and no node's output"));
    }
    if (it != maker.end()) live[it->second] = 1;
    used.insert(name);
  }
  NodeOrder order;
  for (auto it = sorted->rbegin(); it != sorted->rend(); ++it) {
    if (!live[*it]) continue;
    order.nodes.push_back(*it);
    used.insert(reads[*it].begin(), reads[*it].end());
    for (int producer : (*producers)[*it]) live[producer] = 1;
  }
  std::reverse(order.nodes.begin(), order.nodes.end());
  order.used.assign(used.begin(), used.end());
  return order;
}

}  // namespace lemma
