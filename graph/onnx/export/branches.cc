#include "graph/onnx/export/branches.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/onnx/node_order.h"

namespace lemma {
namespace {

bool IsOneOf(const IfNames& ifs, const onnx::NodeProto& node) {
  return node.output_size() > 0 && ifs.contains(node.output(0));
}

using Bits = std::vector<uint64_t>;  // a set of Ifs

void Add(const Bits& more, Bits* bits) {
  for (size_t i = 0; i < more.size(); ++i) (*bits)[i] |= more[i];
}
bool Meet(const Bits& a, const Bits& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if ((a[i] & b[i]) != 0) return true;
  }
  return false;
}

// A tree of graphs: the main graph, and branches of If nodes in it.
class Branches {
 public:
  Branches(const IfNames& ifs, onnx::GraphProto* graph) : ifs_(ifs), graph_(graph) {}

  void Run() {
    const int count = graph_->node_size();
    for (const auto& output : graph_->output()) ReadIn(output.name(), kMain);
    std::vector<int> scope_of(count, kMain);
    for (int n = count - 1; n >= 0; --n) scope_of[n] = Place(graph_->node(n), n);
    nodes_.Swap(graph_->mutable_node());
    members_.resize(parent_.size());
    for (int n = 0; n < count; ++n) members_[scope_of[n]].push_back(n);
    Fill(kMain, graph_->mutable_node());
    MoveValueInfos();
  }

 private:
  static constexpr int kMain = 0;

  int AddScope(int parent) {
    parent_.push_back(parent);
    depth_.push_back(depth_[parent] + 1);
    return static_cast<int>(parent_.size()) - 1;
  }

  int Common(int a, int b) const {
    while (a != b) {
      int& deeper = depth_[a] >= depth_[b] ? a : b;
      deeper = parent_[deeper];
    }
    return a;
  }

  void ReadIn(const std::string& name, int scope) {
    auto [it, is_new] = reader_.emplace(name, scope);
    if (!is_new) it->second = Common(it->second, scope);
  }

  // The innermost scope of all readers of the node, whose own operands are then read there.
  int Place(const onnx::NodeProto& node, int n) {
    int scope = -1;
    for (const std::string& name : node.output()) {
      auto reader = reader_.find(name);
      if (reader == reader_.end()) continue;
      scope = scope < 0 ? reader->second : Common(scope, reader->second);
    }
    scope = std::max(scope, kMain);
    if (!IsOneOf(ifs_, node)) {
      for (const std::string& name : NamesRead(node)) ReadIn(name, scope);
      return scope;
    }
    for (const std::string& name : node.input()) ReadIn(name, scope);
    for (const auto& attribute : node.attribute()) {
      const int branch = AddScope(scope);
      branches_[{n, attribute.name()}] = branch;
      for (const auto& inner : attribute.g().node()) ReadIn(inner.input(0), branch);
    }
    return scope;
  }

  // Moves the scope's nodes to the front of `list`.
  void Fill(int scope, NodeList* list) {
    NodeList own;
    own.Swap(list);
    for (int n : members_[scope]) {
      onnx::NodeProto* node = list->Add();
      node->Swap(nodes_.Mutable(n));
      if (scope != kMain) {
        for (const std::string& name : node->output()) moved_.emplace(name, scope);
      }
      if (!IsOneOf(ifs_, *node)) continue;
      for (auto& attribute : *node->mutable_attribute()) {
        const int branch = branches_.at({n, attribute.name()});
        Fill(branch, attribute.mutable_g()->mutable_node());
        filled_[branch] = attribute.mutable_g();
      }
    }
    for (onnx::NodeProto& node : own) list->Add()->Swap(&node);
  }

  // Types are declared in the graph that has the value.
  void MoveValueInfos() {
    google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> infos;
    infos.Swap(graph_->mutable_value_info());
    for (onnx::ValueInfoProto& info : infos) {
      auto moved = moved_.find(info.name());
      onnx::GraphProto* graph = moved == moved_.end() ? graph_ : filled_.at(moved->second);
      graph->add_value_info()->Swap(&info);
    }
  }

  const IfNames& ifs_;
  onnx::GraphProto* const graph_;
  NodeList nodes_;
  std::vector<int> parent_ = {kMain}, depth_ = {0};      // by scope
  std::vector<std::vector<int>> members_;                // by scope: nodes, in order
  absl::flat_hash_map<std::string, int> reader_;         // by name: the common scope of its readers
  std::map<std::pair<int, std::string>, int> branches_;  // by node and attribute
  absl::flat_hash_map<std::string, int> moved_;          // by name
  std::map<int, onnx::GraphProto*> filled_;              // by scope
};

}  // namespace

void JoinIfs(const IfNames& ifs, onnx::GraphProto* graph) {
  if (ifs.empty()) return;
  absl::flat_hash_map<std::string, Bits> depends;  // by name: the Ifs on which it depends
  struct Joined {
    onnx::NodeProto* node;
    Bits members;
  };
  std::vector<Joined> joined;
  NodeList nodes;
  nodes.Swap(graph->mutable_node());
  const size_t words = (ifs.size() + 63) / 64;
  size_t numbers = 0;
  for (onnx::NodeProto& node : nodes) {
    Bits operands(words);
    for (const std::string& name : NamesRead(node)) {
      auto it = depends.find(name);
      if (it != depends.end()) Add(it->second, &operands);
    }
    const bool is_if = IsOneOf(ifs, node);
    Bits own(words);
    if (is_if) {
      own[numbers / 64] |= uint64_t{1} << numbers % 64;
      ++numbers;
    }
    Bits all = operands;
    Add(own, &all);
    for (const std::string& name : node.output()) depends[name] = all;
    auto other = std::find_if(joined.begin(), joined.end(), [&](const Joined& known) {
      return is_if && known.node->input(0) == node.input(0) && !Meet(known.members, operands);
    });
    if (other == joined.end()) {
      onnx::NodeProto* kept = graph->add_node();
      kept->Swap(&node);
      if (is_if) joined.push_back({kept, own});
      continue;
    }
    Add(own, &other->members);
    for (std::string& name : *node.mutable_output()) other->node->add_output()->swap(name);
    for (auto& attribute : *node.mutable_attribute()) {
      for (auto& into : *other->node->mutable_attribute()) {
        if (into.name() != attribute.name()) continue;
        for (auto& inner : *attribute.mutable_g()->mutable_node()) {
          into.mutable_g()->add_node()->Swap(&inner);
        }
        for (auto& output : *attribute.mutable_g()->mutable_output()) {
          into.mutable_g()->add_output()->Swap(&output);
        }
      }
    }
  }
}

void MoveIntoBranches(const IfNames& ifs, onnx::GraphProto* graph) {
  if (!ifs.empty()) Branches(ifs, graph).Run();
}

}  // namespace lemma
