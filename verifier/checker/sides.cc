#include "verifier/checker/sides.h"

#include <algorithm>

#include "base/hash.h"

namespace lemma::checker {

Sides::Sides(const Substitution& rule, const Instance& instance, Algebra* algebra, int fill) {
  for (size_t v = 0; v < instance.inputs.size(); ++v) {
    const ExprType& type = instance.inputs[v];
    TensorValue tensor;
    int64_t size = 1;
    for (const IndexExpr& dim : type.dims) {
      tensor.dims.push_back(dim.value());
      size *= dim.value();
    }
    for (int64_t i = 0; i < size; ++i) {
      const bool number = fill > 0 && IsInteger(type.dtype);
      // Mostly valid positions, sometimes the end of a dimension.
      const uint64_t hash = Mix64(HashCombine(HashCombine(fill, v), i));
      tensor.elements.push_back(number
                                    ? algebra->Integer(static_cast<int64_t>(hash % (1 + fill % 3)))
                                    : algebra->Input(static_cast<int>(v), i, type.dtype));
    }
    inputs_.push_back(std::move(tensor));
  }
  invalid_ = !Run(rule.source, instance.source, algebra, &outputs_[0]) && fill > 0;
  Run(rule.target, instance.target, algebra, &outputs_[1]);
}

bool Sides::Run(const Pattern& pattern, const std::vector<Definition>& nodes, Algebra* algebra,
                std::vector<TensorValue>* outputs) {
  std::vector<std::vector<TensorValue>> made(nodes.size());
  auto value_of = [&](const PatternValue& v) {
    return v.is_var() ? &inputs_[v.index] : &made[v.node][v.index];
  };
  bool inside = true;
  for (size_t n = 0; n < nodes.size(); ++n) {
    std::vector<const TensorValue*> inputs;
    for (const PatternValue& v : pattern.nodes[n].inputs) inputs.push_back(value_of(v));
    Evaluator evaluator(algebra, nodes[n], std::move(inputs));
    made[n] = evaluator.Run();
    needs_positions_ |= evaluator.needs_positions();
    inside &= !evaluator.read_outside();
  }
  for (const PatternValue& v : pattern.outputs) outputs->push_back(*value_of(v));
  return inside;
}

bool NeedsPositions(const Substitution& rule, const Instance& instance, int64_t* work) {
  if (std::none_of(instance.inputs.begin(), instance.inputs.end(),
                   [](const ExprType& type) { return IsInteger(type.dtype); })) {
    return false;
  }
  Algebra algebra(Level::kRing, work);
  return Sides(rule, instance, &algebra, 0).needs_positions();
}

}  // namespace lemma::checker
