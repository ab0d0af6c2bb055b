#include "graph/onnx/opaque.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/node_order.h"

namespace lemma {
namespace {

using Rename = std::function<std::string(const std::string&)>;

void RenameNode(onnx::NodeProto* node, const Rename& rename);

void RenameGraph(onnx::GraphProto* graph, const Rename& rename) {
  auto apply = [&](std::string* name) {
    if (!name->empty()) *name = rename(*name);
  };
  for (auto& input : *graph->mutable_input()) apply(input.mutable_name());
  for (auto& output : *graph->mutable_output()) apply(output.mutable_name());
  for (auto& info : *graph->mutable_value_info()) apply(info.mutable_name());
  for (auto& tensor : *graph->mutable_initializer()) apply(tensor.mutable_name());
  for (auto& node : *graph->mutable_node()) RenameNode(&node, rename);
}

void RenameSubgraphs(onnx::NodeProto* node, const Rename& rename) {
  for (auto& attribute : *node->mutable_attribute()) {
    if (attribute.has_g()) RenameGraph(attribute.mutable_g(), rename);
    for (auto& graph : *attribute.mutable_graphs()) RenameGraph(&graph, rename);
  }
}

void RenameNode(onnx::NodeProto* node, const Rename& rename) {
  for (auto* names : {node->mutable_input(), node->mutable_output()}) {
    for (std::string& name : *names) {
      if (!name.empty()) name = rename(name);
    }
  }
  RenameSubgraphs(node, rename);
}

void ClearDebugText(onnx::NodeProto* node) {
  node->clear_name();
  node->clear_doc_string();
  for (auto& attribute : *node->mutable_attribute()) attribute.clear_doc_string();
}

}  // namespace

OpaqueNode PackOpaque(const onnx::NodeProto& original, const std::map<std::string, int>& opsets) {
  OpaqueNode result;
  onnx::NodeProto node = original;
  ClearDebugText(&node);
  for (std::string& name : *node.mutable_input()) {
    if (name.empty()) continue;
    result.inputs.push_back(name);
    name = absl::StrCat("i", result.inputs.size() - 1);
  }
  for (std::string& name : *node.mutable_output()) {
    if (name.empty()) continue;
    result.outputs.push_back(name);
    name = absl::StrCat("o", result.outputs.size() - 1);
  }
  std::vector<std::string> captured;
  for (const auto& attribute : original.attribute()) {
    onnx::NodeProto holder;
    *holder.add_attribute() = attribute;
    for (std::string& name : NamesRead(holder)) captured.push_back(std::move(name));
  }
  std::map<std::string, std::string> names;
  for (const std::string& name : captured) {
    if (!names.emplace(name, absl::StrCat("c", result.inputs.size())).second) continue;
    result.inputs.push_back(name);
  }
  int locals = 0;
  RenameSubgraphs(&node, [&](const std::string& name) {
    auto [it, is_new] = names.emplace(name, "");
    if (is_new) it->second = absl::StrCat("l", locals++);
    return it->second;
  });

  onnx::ModelProto model;
  model.set_ir_version(8);
  for (const auto& [domain, version] : opsets) {
    auto* entry = model.add_opset_import();
    entry->set_domain(domain);
    entry->set_version(version);
  }
  *model.mutable_graph()->add_node() = std::move(node);
  result.payload = model.SerializeAsString();
  return result;
}

absl::StatusOr<UnpackedNode> UnpackOpaque(absl::string_view payload,
                                          const std::vector<std::string>& inputs,
                                          const std::vector<std::string>& outputs,
                                          const Rename& fresh) {
  onnx::ModelProto model;
  if (!model.ParseFromArray(payload.data(), static_cast<int>(payload.size())) ||
      model.graph().node_size() != 1) {
    return absl::InvalidArgumentError("the payload of an opaque operator is damaged");
  }
  UnpackedNode result;
  for (const auto& entry : model.opset_import()) {
    result.opsets[NormalDomain(entry.domain())] = static_cast<int>(entry.version());
  }
  std::map<std::string, std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names[absl::StrCat("i", i)] = names[absl::StrCat("c", i)] = inputs[i];
  }
  for (size_t i = 0; i < outputs.size(); ++i) names[absl::StrCat("o", i)] = outputs[i];
  result.node = std::move(*model.mutable_graph()->mutable_node(0));
  RenameNode(&result.node, [&](const std::string& name) {
    auto [it, is_new] = names.emplace(name, "");
    if (is_new) it->second = fresh(name);
    return it->second;
  });
  return result;
}

int OpsetOfChange(absl::string_view op_type, int from, int to) {
  // Read off ONNX's schemas: inputs moved, attributes dropped, defaults or meanings changed.
  static const auto* changes = new std::map<std::string, std::set<int>, std::less<>>{
      {"BatchNormalization", {7, 9, 14}},
      {"Clip", {11}},
      {"Dropout", {7, 12}},
      {"Hardmax", {13}},
      {"LogSoftmax", {13}},
      {"Pad", {11}},
      {"ReduceSum", {13}},
      {"Resize", {11, 13}},
      {"RoiAlign", {16}},
      {"Scan", {9}},
      {"Scatter", {11}},
      {"Slice", {10}},
      {"Softmax", {13}},
      {"Split", {13}},
      {"Squeeze", {13}},
      {"TopK", {10}},
      {"Unsqueeze", {13}},
      {"Upsample", {9, 10}},
  };
  auto it = changes->find(op_type);
  if (it == changes->end()) return 0;
  auto change = it->second.upper_bound(from);
  return change != it->second.end() && *change <= to ? *change : 0;
}

}  // namespace lemma
