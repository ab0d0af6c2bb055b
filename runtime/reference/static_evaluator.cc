#include "runtime/reference/static_evaluator.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/reference/reference.h"

namespace lemma {

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
  return (*outputs)[v.output()];
}

}  // namespace lemma
