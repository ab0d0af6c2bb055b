#include "graph/onnx/opsets/schema.h"

#include <onnx/defs/data_type_utils.h>
#include <onnx/defs/schema.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

using onnx::OpSchema;
using onnx::OpSchemaRegistry;

onnx::DataType TypeOf(int element_type) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(element_type);
  return onnx::Utils::DataTypeUtils::ToType(type);
}

bool IsDefault(const onnx::AttributeProto& attribute, const OpSchema& schema) {
  auto known = schema.attributes().find(attribute.name());
  if (known == schema.attributes().end()) return false;
  onnx::AttributeProto fallback = known->second.default_value;
  if (attribute.type() == onnx::AttributeProto::INTS && !fallback.has_type()) {
    // Optional lists of strides and dilations have no default in the schema; they count as ones.
    return std::all_of(attribute.ints().begin(), attribute.ints().end(),
                       [](int64_t i) { return i == 1; });
  }
  fallback.set_name(attribute.name());
  fallback.set_type(attribute.type());
  return fallback.SerializeAsString() == attribute.SerializeAsString();
}

std::string AttributeProblem(const OpSchema& schema, onnx::NodeProto* node) {
  const OpSchema* last = OpSchemaRegistry::Schema(node->op_type(), LastKnownOpset(), "");
  auto* attributes = node->mutable_attribute();
  for (int i = attributes->size() - 1; i >= 0; --i) {
    const onnx::AttributeProto& attribute = attributes->Get(i);
    if (schema.attributes().count(attribute.name()) != 0) continue;
    if (last == nullptr || !IsDefault(attribute, *last)) {
      return absl::StrCat("attribute ", attribute.name());
    }
    attributes->DeleteSubrange(i, 1);
  }
  return "";
}

// The type that a Cast makes; 0 for any other node.
int CastTo(const onnx::NodeProto& node) {
  if (node.op_type() != "Cast") return 0;
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == "to") return static_cast<int>(attribute.i());
  }
  return 0;
}

// Binds the schema's type variables; `variables` are numbers of element types by name.
std::string TypeProblem(const OpSchema& schema, const onnx::NodeProto& node,
                        const ElementTypes& types, std::map<std::string, int>* variables) {
  for (int i = 0; i < node.input_size(); ++i) {
    auto type = types.find(node.input(i));
    if (node.input(i).empty() || type == types.end() || type->second == 0) continue;
    const size_t at = std::min<size_t>(i, schema.inputs().size() - 1);  // the last is variadic
    const OpSchema::FormalParameter& input = schema.inputs()[at];
    const onnx::DataType name = TypeOf(type->second);
    if (input.GetTypes().count(name) == 0) return absl::StrCat("input ", i, " of type ", *name);
    variables->emplace(input.GetTypeStr(), type->second);
  }
  if (const int to = CastTo(node); to != 0) {
    const onnx::DataType name = TypeOf(to);
    if (schema.outputs()[0].GetTypes().count(name) == 0) return absl::StrCat("type ", *name);
  }
  return "";
}

void AddOutputTypes(const OpSchema& schema, const onnx::NodeProto& node,
                    const std::map<std::string, int>& variables, ElementTypes* types) {
  for (int i = 0; i < node.output_size(); ++i) {
    const size_t at = std::min<size_t>(i, schema.outputs().size() - 1);
    const OpSchema::FormalParameter& output = schema.outputs()[at];
    int type = 0;
    auto variable = variables.find(output.GetTypeStr());
    if (variable != variables.end()) {
      type = variable->second;
    } else if (output.GetTypes().size() == 1) {
      type = onnx::Utils::DataTypeUtils::ToTypeProto(*output.GetTypes().begin())
                 .tensor_type()
                 .elem_type();
    }
    if (const int to = CastTo(node); to != 0) type = to;
    types->emplace(node.output(i), type);
  }
}

}  // namespace

int LastKnownOpset() {
  static const int last =
      onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at(onnx::ONNX_DOMAIN).second;
  return last;
}

int SinceOpset(const std::string& op_type, int opset) {
  const OpSchema* schema = OpSchemaRegistry::Schema(op_type, std::min(opset, LastKnownOpset()), "");
  return schema == nullptr ? 0 : schema->SinceVersion();
}

std::string SchemaProblem(int opset, onnx::NodeProto* node, ElementTypes* types) {
  if (opset > LastKnownOpset()) return "";
  const OpSchema* schema = OpSchemaRegistry::Schema(node->op_type(), opset, "");
  if (schema == nullptr || schema->Deprecated()) return absl::StrCat("operator ", node->op_type());
  if (opset < kBroadcastOpset) {
    const OpSchema* later = OpSchemaRegistry::Schema(node->op_type(), kBroadcastOpset, "");
    if (later == nullptr || later->SinceVersion() != schema->SinceVersion()) {
      return absl::StrCat("this form of ", node->op_type());
    }
  }
  if (node->input_size() < schema->min_input() || node->input_size() > schema->max_input()) {
    return absl::StrCat(node->input_size(), " inputs");
  }
  if (node->output_size() > schema->max_output()) {
    return absl::StrCat(node->output_size(), " outputs");
  }
  if (std::string problem = AttributeProblem(*schema, node); !problem.empty()) return problem;
  std::map<std::string, int> variables;
  std::string problem = TypeProblem(*schema, *node, *types, &variables);
  if (problem.empty()) AddOutputTypes(*schema, *node, variables, types);
  return problem;
}

}  // namespace lemma
