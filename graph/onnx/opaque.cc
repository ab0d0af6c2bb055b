#include "graph/onnx/opaque.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/convert.h"
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

// Calls visit for each of the nodes, the nodes in their subgraphs, and those in functions they
// call.
template <class Nodes, class Visit>
void VisitNodes(const Nodes& nodes, const FunctionMap& functions,
                std::map<std::string, const onnx::FunctionProto*>* called, const Visit& visit) {
  for (const onnx::NodeProto& node : nodes) {
    visit(node);
    const std::string name = absl::StrCat(NormalDomain(node.domain()), ":", node.op_type());
    auto function = functions.find(name);
    if (function != functions.end() && called->emplace(name, function->second).second) {
      VisitNodes(function->second->node(), functions, called, visit);
    }
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) VisitNodes(attribute.g().node(), functions, called, visit);
      for (const auto& graph : attribute.graphs()) {
        VisitNodes(graph.node(), functions, called, visit);
      }
    }
  }
}

bool Draws(const onnx::NodeProto& node) {
  static const auto* draw = new std::set<std::string, std::less<>>{
      "Bernoulli",        "Dropout",       "Multinomial",      "RandomNormal",
      "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  return draw->count(node.op_type()) != 0 || !NormalDomain(node.domain()).empty();
}

void ClearDebugText(onnx::NodeProto* node) {
  node->clear_name();
  node->clear_doc_string();
  for (auto& attribute : *node->mutable_attribute()) attribute.clear_doc_string();
}

}  // namespace

bool MayDraw(const onnx::NodeProto& node, const FunctionMap& functions) {
  bool draws = false;
  std::map<std::string, const onnx::FunctionProto*> called;
  VisitNodes(std::vector<onnx::NodeProto>{node}, functions, &called, [&](const auto& inner) {
    const std::string name = absl::StrCat(NormalDomain(inner.domain()), ":", inner.op_type());
    draws |= Draws(inner) && functions.count(name) == 0;
  });
  return draws;
}

bool ReadsFiles(const onnx::NodeProto& node, const FunctionMap& functions) {
  bool reads = false;
  auto look = [&](const onnx::TensorProto& tensor) {
    reads |= tensor.data_location() == onnx::TensorProto::EXTERNAL;
  };
  auto look_at_graph = [&](const onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer()) look(tensor);
  };
  std::map<std::string, const onnx::FunctionProto*> called;
  VisitNodes(std::vector<onnx::NodeProto>{node}, functions, &called, [&](const auto& inner) {
    for (const auto& attribute : inner.attribute()) {
      if (attribute.has_t()) look(attribute.t());
      for (const auto& tensor : attribute.tensors()) look(tensor);
      if (attribute.has_g()) look_at_graph(attribute.g());
      for (const auto& graph : attribute.graphs()) look_at_graph(graph);
    }
  });
  return reads;
}

absl::Status EmbedFiles(onnx::NodeProto* node, TensorFiles* files) {
  const auto embed = [&](onnx::TensorProto* tensor) -> absl::Status {
    if (tensor->data_location() != onnx::TensorProto::EXTERNAL) return absl::OkStatus();
    LEMMA_ASSIGN_OR_RETURN(const Tensor values, ToTensor(*tensor, files));
    *tensor = ToProto(tensor->name(), values);
    return absl::OkStatus();
  };
  const auto embed_in_graph = [&](onnx::GraphProto* graph) -> absl::Status {
    for (auto& tensor : *graph->mutable_initializer()) LEMMA_RETURN_IF_ERROR(embed(&tensor));
    for (auto& inner : *graph->mutable_node()) LEMMA_RETURN_IF_ERROR(EmbedFiles(&inner, files));
    return absl::OkStatus();
  };
  for (auto& attribute : *node->mutable_attribute()) {
    if (attribute.has_t()) LEMMA_RETURN_IF_ERROR(embed(attribute.mutable_t()));
    for (auto& tensor : *attribute.mutable_tensors()) LEMMA_RETURN_IF_ERROR(embed(&tensor));
    if (attribute.has_g()) LEMMA_RETURN_IF_ERROR(embed_in_graph(attribute.mutable_g()));
    for (auto& graph : *attribute.mutable_graphs()) LEMMA_RETURN_IF_ERROR(embed_in_graph(&graph));
  }
  return absl::OkStatus();
}

OpaqueNode PackOpaque(const onnx::NodeProto& original, const std::map<std::string, int>& opsets,
                      const FunctionMap& functions, const std::string& mark) {
  OpaqueNode result;
  onnx::NodeProto node = original;
  ClearDebugText(&node);
  if (!mark.empty()) node.set_doc_string(mark);
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
  std::map<std::string, const onnx::FunctionProto*> called;
  std::set<std::string> domains = {""};
  VisitNodes(std::vector<onnx::NodeProto>{original}, functions, &called,
             [&](const onnx::NodeProto& inner) { domains.insert(NormalDomain(inner.domain())); });
  for (const auto& [domain, version] : opsets) {
    if (domains.count(domain) == 0) continue;
    auto* entry = model.add_opset_import();
    entry->set_domain(domain);
    entry->set_version(version);
  }
  *model.mutable_graph()->add_node() = std::move(node);
  for (const auto& [name, function] : called) *model.add_functions() = *function;
  result.payload = model.SerializeAsString();
  return result;
}

void VisitSubnodes(const onnx::NodeProto& node,
                   const std::function<void(const onnx::NodeProto&)>& visit) {
  std::map<std::string, const onnx::FunctionProto*> called;
  VisitNodes(std::vector<onnx::NodeProto>{node}, {}, &called, visit);
}

std::vector<const onnx::FunctionProto*> FunctionsCalled(const onnx::NodeProto& node,
                                                        const FunctionMap& functions) {
  std::map<std::string, const onnx::FunctionProto*> called;
  VisitNodes(std::vector<onnx::NodeProto>{node}, functions, &called, [](const auto&) {});
  std::vector<const onnx::FunctionProto*> result;
  for (const auto& [name, function] : called) result.push_back(function);
  return result;
}

void RenameInSubgraphs(onnx::NodeProto* node, const std::map<std::string, std::string>& names) {
  if (names.empty()) return;
  RenameSubgraphs(node, [&](const std::string& name) {
    auto it = names.find(name);
    return it == names.end() ? name : it->second;
  });
}

int OpsetOfOpaque(const std::string& payload) {
  onnx::ModelProto model;
  if (!model.ParseFromString(payload)) return 0;
  for (const auto& entry : model.opset_import()) {
    if (NormalDomain(entry.domain()).empty()) return static_cast<int>(entry.version());
  }
  return 0;
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
  result.functions.assign(model.functions().begin(), model.functions().end());
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

}  // namespace lemma
