#include "graph/graph.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "base/hash.h"

namespace lemma {
namespace {

// All living nodes by hash. The table holds weak references: a node dies with its last user.
class NodeTable {
 public:
  static NodeTable& Get() {
    static NodeTable* table = new NodeTable;  // outlives every node
    return *table;
  }
  struct Shard {
    std::mutex mutex;
    // Almost always one node for a hash.
    absl::flat_hash_map<uint64_t, absl::InlinedVector<std::weak_ptr<const Node>, 1>> nodes;
  };
  Shard& ShardOf(uint64_t hash) { return shards_[hash % shards_.size()]; }

 private:
  std::array<Shard, 16> shards_;
};

void Forget(const Node* node) {
  NodeTable::Shard& shard = NodeTable::Get().ShardOf(node->hash());
  std::lock_guard<std::mutex> lock(shard.mutex);
  auto it = shard.nodes.find(node->hash());
  if (it == shard.nodes.end()) return;
  auto& alike = it->second;
  alike.erase(std::remove_if(alike.begin(), alike.end(),
                             [](const std::weak_ptr<const Node>& n) { return n.expired(); }),
              alike.end());
  if (alike.empty()) shard.nodes.erase(it);
}

// Deletes a node. This may delete its operands too; they queue here instead of recursing, since
// graphs may be deeper than the call stack allows.
void Retire(const Node* node) {
  thread_local std::vector<const Node*>* queue = nullptr;
  if (queue != nullptr) {
    queue->push_back(node);
    return;
  }
  std::vector<const Node*> pending = {node};
  queue = &pending;
  while (!pending.empty()) {
    const Node* next = pending.back();
    pending.pop_back();
    Forget(next);
    delete next;
  }
  queue = nullptr;
}

[[noreturn]] void Broken(const std::string& what) {
  std::fprintf(stderr, "lemma: broken invariant: %s\n", what.c_str());
  std::abort();
}

}  // namespace

const TensorType& Value::type() const { return node_->type(output_); }
uint64_t Value::hash() const { return HashCombine(node_->hash(), static_cast<uint64_t>(output_)); }

std::vector<TensorType> Node::input_types() const {
  std::vector<TensorType> types;
  types.reserve(inputs_.size());
  for (const Value& v : inputs_) types.push_back(v.type());
  return types;
}

const AttrValue& Node::Attr(absl::string_view name) const {
  auto it = attrs_.find(std::string(name));
  if (it == attrs_.end()) {
    Broken((op_ ? op_->name : std::string("a leaf")) + " has no attribute " + std::string(name));
  }
  return it->second;
}
int64_t Node::Int(absl::string_view attr) const { return std::get<int64_t>(Attr(attr)); }
double Node::Float(absl::string_view attr) const { return std::get<double>(Attr(attr)); }
const std::string& Node::String(absl::string_view attr) const {
  return std::get<std::string>(Attr(attr));
}
const std::vector<int64_t>& Node::Ints(absl::string_view attr) const {
  return std::get<std::vector<int64_t>>(Attr(attr));
}
const std::vector<double>& Node::Floats(absl::string_view attr) const {
  return std::get<std::vector<double>>(Attr(attr));
}

uint64_t Node::ComputeHash() const {
  uint64_t h = Mix64(static_cast<uint64_t>(kind_));
  switch (kind_) {
    case Kind::kInput:
      h = HashCombine(h, static_cast<uint64_t>(input_index_));
      break;
    case Kind::kWeight:
      h = HashCombine(h, HashString(name_));
      if (has_payload()) h = HashCombine(h, payload_.ContentHash());
      break;
    case Kind::kConstant:
      h = HashCombine(h, payload_.ContentHash());
      break;
    case Kind::kOp:
      h = HashCombine(HashCombine(h, HashString(op_->name)), HashAttrs(attrs_));
      for (const Value& v : inputs_) h = HashCombine(h, v.hash());
      break;
  }
  for (const TensorType& type : types_) h = HashCombine(h, type.Hash());
  return h;
}

bool Node::Same(const Node& other) const {
  return hash_ == other.hash_ && kind_ == other.kind_ && op_ == other.op_ &&
         input_index_ == other.input_index_ && name_ == other.name_ && types_ == other.types_ &&
         inputs_ == other.inputs_ && SameAttrs(attrs_, other.attrs_) &&
         has_payload() == other.has_payload() &&
         (!has_payload() || payload_.SameBytes(other.payload_));
}

NodePtr Node::Intern(std::unique_ptr<Node> node) {
  node->hash_ = node->ComputeHash();
  NodeTable::Shard& shard = NodeTable::Get().ShardOf(node->hash_);
  // Declared before the lock, so that nodes that die here are retired after it is released.
  absl::InlinedVector<NodePtr, 2> looked_at;
  std::lock_guard<std::mutex> lock(shard.mutex);
  auto& alike = shard.nodes[node->hash_];
  for (const std::weak_ptr<const Node>& other : alike) {
    if (NodePtr existing = other.lock()) {
      looked_at.push_back(existing);
      if (existing->Same(*node)) return existing;
    }
  }
  NodePtr shared(node.release(), Retire);
  alike.push_back(shared);
  return shared;
}

NodePtr Node::Input(int index, TensorType type) {
  auto node = std::make_unique<Node>();
  node->kind_ = Kind::kInput;
  node->input_index_ = index;
  node->types_ = {std::move(type)};
  return Intern(std::move(node));
}

NodePtr Node::Weight(std::string name, TensorType type, Tensor payload) {
  if (!payload.empty_handle() && payload.type() != type)
    Broken("weight " + name + " has two types");
  auto node = std::make_unique<Node>();
  node->kind_ = Kind::kWeight;
  node->name_ = std::move(name);
  node->types_ = {std::move(type)};
  node->payload_ = std::move(payload);
  node->finite_ = node->payload_.empty_handle() || node->payload_.IsFinite();
  return Intern(std::move(node));
}

NodePtr Node::Constant(Tensor payload) {
  auto node = std::make_unique<Node>();
  node->kind_ = Kind::kConstant;
  node->types_ = {payload.type()};
  node->payload_ = std::move(payload);
  node->finite_ = node->payload_.empty_handle() || node->payload_.IsFinite();
  return Intern(std::move(node));
}

NodePtr Node::Apply(const OpDef* op, std::vector<Value> inputs, Attrs attrs,
                    std::vector<TensorType> types) {
  auto node = std::make_unique<Node>();
  node->kind_ = Kind::kOp;
  node->op_ = op;
  node->inputs_ = std::move(inputs);
  node->attrs_ = std::move(attrs);
  node->types_ = std::move(types);
  node->operator_hash_ = HashCombine(HashString(op->name), HashAttrs(node->attrs_));
  return Intern(std::move(node));
}

absl::string_view Graph::LabelOf(const Value& value) const {
  auto it = labels_.find({value.node().hash(), value.output()});
  return it == labels_.end() ? absl::string_view() : absl::string_view(it->second);
}

void Graph::Index() {
  nodes_.clear();
  num_ops_ = 0;
  absl::flat_hash_set<const Node*> seen;
  // Explicit stack: graphs may be deeper than the call stack allows. The outputs keep what it
  // points to.
  std::vector<std::pair<const NodePtr*, size_t>> stack;
  auto visit = [&](const NodePtr& root) {
    if (!seen.insert(root.get()).second) return;
    stack.emplace_back(&root, 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < (*node)->inputs().size()) {
        const NodePtr& operand = (*node)->inputs()[next++].node_ptr();
        if (seen.insert(operand.get()).second) stack.emplace_back(&operand, 0);
        continue;
      }
      if ((*node)->is_op()) ++num_ops_;
      nodes_.push_back(*node);
      stack.pop_back();
    }
  };
  for (const Value& v : inputs_) visit(v.node_ptr());
  for (const Value& v : outputs_) visit(v.node_ptr());
}

uint64_t HashApplication(const Node& node) {
  uint64_t h = node.operator_hash();
  for (const Value& v : node.inputs()) h = HashCombine(h, v.type().Hash());
  return h;
}

uint64_t Graph::StructuralHash() const {
  // Weights with values count by their values, others by first use, so that renaming changes
  // nothing.
  absl::flat_hash_map<const Node*, uint64_t> hashes;
  hashes.reserve(nodes_.size());
  uint64_t weights = 0;
  auto value_hash = [&](const Value& v) {
    return HashCombine(hashes.at(&v.node()), static_cast<uint64_t>(v.output()));
  };
  for (const NodePtr& node : nodes_) {
    uint64_t h;
    if (node->kind() == Node::Kind::kWeight && !node->has_payload()) {
      h = HashCombine(HashCombine(Mix64(++weights), 77), node->type(0).Hash());
    } else if (node->kind() == Node::Kind::kWeight) {
      h = HashCombine(78, node->payload().ContentHash());
    } else if (!node->is_op()) {
      h = node->hash();
    } else {
      h = node->operator_hash();
      for (const Value& v : node->inputs()) h = HashCombine(h, value_hash(v));
      for (const TensorType& type : node->types()) h = HashCombine(h, type.Hash());
    }
    hashes[node.get()] = h;
  }
  uint64_t result = Mix64(inputs_.size());
  for (const Value& v : inputs_) result = HashCombine(result, v.type().Hash());
  for (const Value& v : outputs_) result = HashCombine(result, value_hash(v));
  return result;
}

Graph Graph::WithOutputs(std::vector<Value> outputs) const {
  if (outputs.size() != outputs_.size()) Broken("WithOutputs changes the number of outputs");
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type() != outputs_[i].type()) Broken("WithOutputs changes an output's type");
  }
  Graph result = *this;
  result.outputs_ = std::move(outputs);
  result.Index();
  return result;
}

absl::StatusOr<Definition> DefinitionOf(const Node& node) {
  return Define(node.op(), node.input_types(), node.attrs());
}

}  // namespace lemma
