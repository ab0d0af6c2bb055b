#include "generator/derivation/term_store.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lemma::generator {

TermStore::TermStore(OperatorSet* set) : set_(set) {
  precedence_.resize(set->variants().size());
  std::iota(precedence_.begin(), precedence_.end(), 0);
}

int TermStore::Add(const Key& key, const Node& node) {
  nodes_.push_back(node);
  const int number = num_nodes() - 1;
  numbers_.emplace(key, number);
  return number;
}

int TermStore::Input(int number, int type) {
  const Key key{kInput, number, type};
  if (auto it = numbers_.find(key); it != numbers_.end()) return kMostOutputs * it->second;
  Node node;
  node.operands = {number, kNone};
  node.types = {type, kNone};
  return kMostOutputs * Add(key, node);
}

int TermStore::Variable(int number) {
  const Key key{kVariable, number, kNone};
  if (auto it = numbers_.find(key); it != numbers_.end()) return kMostOutputs * it->second;
  Node node;
  node.variant = kVariable;
  node.operands = {number, kNone};
  return kMostOutputs * Add(key, node);
}

int TermStore::Make(int variant, const std::array<int, kMostOperands>& operands) {
  auto [a, b] = operands;
  if (a > b && set_->variants()[variant].commutative) std::swap(a, b);
  const Key key{variant, a, b};
  if (auto it = numbers_.find(key); it != numbers_.end()) return it->second;
  Node made;
  made.variant = variant;
  made.operands = {a, b};
  made.size = 1;
  bool typed = true;
  for (int v : {a, b}) {
    if (v == kNone) continue;
    made.size = std::min(kMostSize, made.size + node(v).size);
    typed &= TypeOf(v) != kNone;
  }
  if (typed) {
    made.types = TypesOf(variant, a == kNone ? kNone : TypeOf(a), b == kNone ? kNone : TypeOf(b));
    if (made.types[0] == kNone) return kNone;
  }
  return Add(key, made);
}

std::vector<int> TermStore::NodesOf(const NumberedGraph& graph, const std::vector<int>& types) {
  std::vector<int> nodes;
  for (const NumberedOp& term : graph.ops) {
    std::array<int, kMostOperands> operands = {kNone, kNone};
    bool there = true;
    for (size_t k = 0; k < term.operands.size(); ++k) {
      operands[k] = ValueOf(term.operands[k], nodes, types);
      there &= operands[k] != kNone;
    }
    nodes.push_back(there ? Make(term.variant, operands) : kNone);
  }
  return nodes;
}

int TermStore::ValueOf(int value, const std::vector<int>& nodes, const std::vector<int>& types) {
  if (value < 0) return Input(-1 - value, types[-1 - value]);
  const int node = nodes[value / kMostOutputs];
  return node == kNone ? node : OutputValue(node, value % kMostOutputs);
}

NumberedGraph TermStore::GraphOf(int value) const {
  NumberedGraph graph;
  absl::flat_hash_map<int, int> places;
  graph.outputs = {Copy(value, &places, &graph)};
  return graph;
}

// `places`: of the nodes that the graph already has.
int TermStore::Copy(int value, absl::flat_hash_map<int, int>* places, NumberedGraph* graph) const {
  const Node& n = node(value);
  if (n.variant < 0) return InputValue(n.operands[0]);
  const int number = value / kMostOutputs;
  auto it = places->find(number);
  if (it == places->end()) {
    NumberedOp term;
    term.variant = n.variant;
    for (int k = 0; k < NumOperands(n); ++k) {
      term.operands.push_back(Copy(n.operands[k], places, graph));
    }
    it = places->emplace(number, static_cast<int>(graph->ops.size())).first;
    graph->ops.push_back(std::move(term));
  }
  return OutputValue(it->second, value % kMostOutputs);
}

const std::array<int, kMostOutputs>& TermStore::TypesOf(int variant, int type0, int type1) {
  auto [it, added] = applications_.try_emplace(Key{variant, type0, type1});
  if (!added) return it->second;
  it->second = {kNone, kNone};
  std::vector<int> types;
  for (int type : {type0, type1}) {
    if (type != kNone) types.push_back(type);
  }
  auto applied = set_->Apply(variant, types);
  if (applied.ok()) {
    std::copy(applied->types.begin(), applied->types.end(), it->second.begin());
  } else if (!absl::IsNotFound(applied.status())) {
    status_.Update(applied.status());
  }
  return it->second;
}

int TermStore::DimsOf(int value) {
  const int type = TypeOf(value);
  auto [it, added] = dims_.try_emplace(type, type);
  if (!added) return it->second;
  for (const auto& [other, number] : dims_) {
    if (other != type && number == other && set_->DimsOf(other) == set_->DimsOf(type)) {
      return dims_[type] = number;
    }
  }
  return type;
}

void TermStore::Clear() {
  nodes_ = {};
  numbers_ = {};
  greater_ = {};
}

void TermStore::SetPrecedence(std::vector<int> precedence) {
  precedence_ = std::move(precedence);
  greater_.clear();
}

// Orders operators before inputs.
int64_t TermStore::Rank(int value) const {
  const Node& n = node(value);
  if (n.variant < 0) return -1 - n.operands[0] - (int64_t{n.types[0] + 1} << 32);
  return int64_t{precedence_[n.variant]} * kMostOutputs + value % kMostOutputs;
}

bool TermStore::Greater(int a, int b) {
  if (a == b) return false;
  const Node& s = node(a);
  const Node& t = node(b);
  if (s.variant < 0) {
    return s.variant == kInput && t.variant == kInput && Rank(a) > Rank(b);
  }
  if (t.variant == kInput) return true;
  const uint64_t key = static_cast<uint64_t>(a) << 32 | static_cast<uint32_t>(b);
  if (auto it = greater_.find(key); it != greater_.end()) return it->second;
  const bool result = IsGreater(a, b);
  greater_[key] = result;
  return result;
}

bool TermStore::IsGreater(int a, int b) {
  const Node& s = node(a);
  const Node& t = node(b);
  const int num_s = NumOperands(s), num_t = NumOperands(t);
  for (int i = 0; i < num_s; ++i) {
    if (s.operands[i] == b || Greater(s.operands[i], b)) return true;
  }
  if (t.variant == kVariable) return false;
  const int64_t rank_s = Rank(a), rank_t = Rank(b);
  if (rank_s < rank_t) return false;
  if (rank_s > rank_t || num_s < 2) {
    for (int i = 0; i < num_t; ++i) {
      if (!Greater(a, t.operands[i])) return false;
    }
    if (rank_s > rank_t) return true;
    return num_s == 1 && Greater(s.operands[0], t.operands[0]);
  }
  if (IsCommutative(s)) {
    // Common operands cancel; each remaining operand of t must be below some remaining one of s.
    std::array<int, 2> left_s = s.operands, left_t = t.operands;
    for (int& x : left_s) {
      for (int& y : left_t) {
        if (x != kNone && x == y) x = y = kNone;
      }
    }
    bool any = false;
    for (int x : left_s) any |= x != kNone;
    for (int y : left_t) {
      if (y == kNone) continue;
      bool below = false;
      for (int x : left_s) below |= x != kNone && Greater(x, y);
      if (!below) return false;
    }
    return any;
  }
  for (int i = 0; i < num_t; ++i) {
    if (!Greater(a, t.operands[i])) return false;
  }
  for (int i = 0; i < num_s; ++i) {
    if (s.operands[i] != t.operands[i]) return Greater(s.operands[i], t.operands[i]);
  }
  return false;
}

}  // namespace lemma::generator
