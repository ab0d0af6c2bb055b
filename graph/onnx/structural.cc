#include "graph/onnx/structural.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

using Results = absl::StatusOr<std::vector<Result>>;

absl::Status Unsupported(const onnx::NodeProto& node, absl::string_view reason) {
  return absl::UnimplementedError(absl::StrCat("unsupported: ", node.op_type(), " (", reason, ")"));
}

const onnx::GraphProto* FindGraph(const onnx::NodeProto& node, absl::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name && attribute.has_g()) return &attribute.g();
  }
  return nullptr;
}

// A graph inside a node sees the names outside.
Scope Inside(const Scope& scope) {
  Scope inner;
  inner.parent = &scope;
  inner.opsets = scope.opsets;
  inner.depth = scope.depth + 1;
  return inner;
}

// A branch whose condition is known is the only one.
Results ImportIf(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope) {
  const onnx::GraphProto* branches[] = {FindGraph(node, "else_branch"),
                                        FindGraph(node, "then_branch")};
  const Value* condition = node.input_size() == 1 ? scope.Find(node.input(0)) : nullptr;
  if (condition == nullptr || !*condition || branches[0] == nullptr || branches[1] == nullptr) {
    return absl::InvalidArgumentError("needs a condition and two branches");
  }
  std::optional<Tensor> known = importer.Known(*condition);
  if (!known || known->size() != 1) return Unsupported(node, "the condition must be a constant");
  Scope inner = Inside(scope);
  return importer.ImportSubgraph(*branches[known->AtInt(0) != 0 ? 1 : 0], &inner);
}

}  // namespace

StructuralImporter FindStructural(const onnx::NodeProto& node, const Scope& scope) {
  (void)scope;
  if (node.op_type() == "If") return ImportIf;
  return nullptr;
}

}  // namespace lemma
