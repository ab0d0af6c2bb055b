#include "tests/api/hunting/wrong_engine.h"

#include "absl/container/flat_hash_map.h"
#include "graph/onnx/import.h"
#include "runtime/reference/reference.h"

namespace lemma {

absl::StatusOr<std::vector<Tensor>> WrongEngine::Run(const SerializedModel& model,
                                                     absl::Span<const Tensor> inputs,
                                                     const std::string& level) {
  auto imported = ImportOnnxBytes(model.bytes);
  if (!imported.ok()) return imported.status();
  const Graph& graph = imported->graph;
  absl::flat_hash_map<Value, Tensor> values;
  for (size_t i = 0; i < graph.inputs().size(); ++i) values[graph.inputs()[i]] = inputs[i];
  for (const NodePtr& node : graph.nodes()) {
    if (node->has_payload()) values[Value(node, 0)] = node->payload();
    if (!node->is_op()) continue;
    std::vector<Tensor> operands;
    for (const Value& v : node->inputs()) operands.push_back(values.at(v));
    auto results = EvaluateNode(*node, operands);
    if (!results.ok()) return results.status();
    auto wrong = fault_(*node, operands, level);
    if (!wrong.ok()) return wrong.status();
    if (*wrong) (*results)[0] = **wrong;
    for (int k = 0; k < node->num_outputs(); ++k) values[Value(node, k)] = (*results)[k];
  }
  std::vector<Tensor> outputs;
  for (const Value& v : graph.outputs()) outputs.push_back(values.at(v));
  return outputs;
}

Tensor Scaled(const Tensor& tensor, double factor) {
  std::vector<double> values = tensor.ToDoubles();
  for (double& value : values) value *= factor;
  return *Tensor::FromDoubles(tensor.type(), values);
}

}  // namespace lemma
