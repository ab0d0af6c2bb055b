#include "runtime/reference/static_evaluator.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/reference/reference.h"

namespace lemma {

StaticEvaluator::StaticEvaluator(int threads, absl::Span<const Value> wanted) : threads_(threads) {
  std::vector<const Node*> pending;
  const auto use = [&](const Value& v) {
    if (v.node().is_op() && ++uses_[&v.node()] == 1) pending.push_back(&v.node());
  };
  for (const Value& v : wanted) use(v);
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    for (const Value& in : node->inputs()) use(in);
  }
}

void StaticEvaluator::Release(const Value& v) {
  const auto at = uses_.find(&v.node());
  if (at == uses_.end() || --at->second > 0) return;
  for (int k = 0; k < v.node().num_outputs(); ++k) done_.erase(Value(v.node_ptr(), k));
}

void StaticEvaluator::Forget(const Value& v) {
  if (uses_.contains(&v.node())) return Release(v);
  done_.erase(v);
}

absl::StatusOr<Tensor> StaticEvaluator::Evaluate(const Value& v) {
  const Node& node = v.node();
  if (node.has_payload()) return node.payload();
  if (!node.is_op()) {
    return absl::FailedPreconditionError(absl::StrCat("weight ", node.name(), " has no values"));
  }
  auto it = done_.find(v);
  if (it != done_.end()) return it->second;
  std::vector<Tensor> inputs;
  for (const Value& in : node.inputs()) {
    absl::StatusOr<Tensor> value = Evaluate(in);
    if (!value.ok()) return value;
    inputs.push_back(*std::move(value));
  }
  absl::StatusOr<std::vector<Tensor>> outputs = EvaluateNode(node, inputs, threads_);
  if (!outputs.ok()) return outputs.status();
  for (int k = 0; k < node.num_outputs(); ++k) done_[Value(v.node_ptr(), k)] = (*outputs)[k];
  for (const Value& in : node.inputs()) Release(in);
  return (*outputs)[v.output()];
}

}  // namespace lemma
