#include "graph/onnx/origin/binder.h"

#include <utility>

#include "graph/barrier.h"

namespace lemma {

Binder::Binder(const OriginNode& node) : asked_(node.asked.begin(), node.asked.end()) {
  for (const auto& [name, value] : node.inputs) inputs_.insert(value);
}

bool Binder::Accepts(const Value& input, const Value& value) const {
  if (input == value) return true;
  if (input.type() != value.type() || asked_.contains(input)) return false;
  // The import computes what depends on constants only, so a constant stays what it is, and no
  // computed value becomes one.
  const Node::Kind kind = input.node().kind();
  if (kind == Node::Kind::kConstant) return false;
  return kind == Node::Kind::kWeight || !value.node().has_payload();
}

bool Binder::Match(const Value& pattern, const Value& value) {
  std::vector<std::pair<Value, Value>> stack = {{pattern, value}};  // chains may be long
  while (!stack.empty()) {
    const auto [from, to] = stack.back();
    stack.pop_back();
    if (auto known = bound_.find(from); known != bound_.end()) {
      if (known->second != to) return false;
      continue;
    }
    if (inputs_.contains(from)) {
      if (!Accepts(from, to)) return false;
      bound_.emplace(from, to);
      continue;
    }
    if (from != to && asked_.contains(from)) return false;
    const Node &a = from.node(), &b = to.node();
    if (!a.is_op()) {
      if (from != to) return false;
      continue;
    }
    if (!b.is_op() || &a.op() != &b.op() || from.output() != to.output() ||
        a.types() != b.types() || a.inputs().size() != b.inputs().size() ||
        a.attrs() != b.attrs()) {
      return false;
    }
    bound_.emplace(from, to);
    if (IsBarrier(a)) {  // what it waits for is no part of the node
      stack.emplace_back(a.inputs()[0], b.inputs()[0]);
      continue;
    }
    for (size_t i = 0; i < a.inputs().size(); ++i) {
      stack.emplace_back(a.inputs()[i], b.inputs()[i]);
    }
  }
  return true;
}

Value Binder::Bound(const Value& input) const {
  auto known = bound_.find(input);
  return known == bound_.end() ? Value() : known->second;
}

bool Binder::Bind(const Value& input, const Value& value) {
  return Accepts(input, value) && bound_.emplace(input, value).first->second == value;
}

Value Binder::Apply(const Value& pattern) {
  std::vector<Value> stack = {pattern};
  while (!stack.empty()) {
    const Value from = stack.back();
    const Node& node = from.node();
    bool ready = true;
    if (!bound_.contains(from) && node.is_op() && !inputs_.contains(from)) {
      for (const Value& input : node.inputs()) {
        if (bound_.contains(input) || !input.node().is_op() || inputs_.contains(input)) continue;
        stack.push_back(input);
        ready = false;
      }
      if (!ready) continue;
      std::vector<Value> inputs;
      for (const Value& input : node.inputs()) {
        Value bound = Bound(input);
        inputs.push_back(bound ? bound : input);
      }
      NodePtr made = Node::Apply(&node.op(), std::move(inputs), node.attrs(), node.types());
      bound_.emplace(from, Value(std::move(made), from.output()));
    }
    stack.pop_back();
  }
  Value bound = Bound(pattern);
  return bound ? bound : pattern;
}

std::vector<const Node*> Binder::Body() const {
  std::vector<const Node*> body;
  for (const auto& [from, to] : bound_) {
    if (!inputs_.contains(from) && to.node().is_op()) body.push_back(&to.node());
  }
  return body;
}

}  // namespace lemma
