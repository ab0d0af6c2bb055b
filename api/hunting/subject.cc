#include "api/hunting/subject.h"

#include <utility>

#include "graph/onnx/export.h"
#include "runtime/reference/all_values.h"

namespace lemma::hunt {

absl::StatusOr<SerializedModel> Serialized(const Subject& subject) {
  ExportOptions options;
  options.info.opset = subject.opset;
  auto bytes = ExportOnnx(subject.graph, options);
  if (!bytes.ok()) return bytes.status();
  return SerializedModel{*std::move(bytes), subject.graph.input_names(),
                         subject.graph.output_names()};
}

bool HasFiniteValuesOnly(const Subject& subject) {
  const auto values = AllValues(subject.graph, subject.inputs);
  if (!values.ok()) return false;
  for (const auto& [value, tensor] : *values) {
    if (IsFloat(tensor.dtype()) && !tensor.IsFinite()) return false;
  }
  return true;
}

}  // namespace lemma::hunt
