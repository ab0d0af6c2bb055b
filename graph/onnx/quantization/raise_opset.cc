#include "graph/onnx/quantization/raise_opset.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/onnx/opsets/version_converter.h"

namespace lemma {
namespace {

// Attributes that became operands, in this order from operand number 1 on, with operator set
// `opset`. What a node lacks stays absent, unless it is a number with a default.
struct BecameOperands {
  const char* type;
  int opset;
  std::vector<const char*> attributes;
};

const std::vector<BecameOperands>& Moved() {
  static const auto* const moved = new std::vector<BecameOperands>{
      {"Slice", 10, {"starts", "ends", "axes"}},
      {"Clip", 11, {"min", "max"}},
      {"Dropout", 12, {"ratio"}},
      {"ReduceSum", 13, {"axes"}},
      {"Split", 13, {"split"}},
      {"Squeeze", 13, {"axes"}},
      {"Unsqueeze", 13, {"axes"}},
  };
  return *moved;
}

// Before this set, Softmax takes all axes from its attribute on as one.
constexpr int kSoftmaxOpset = 13;
bool IsSoftmax(const onnx::NodeProto& node) {
  return node.op_type() == "Softmax" || node.op_type() == "LogSoftmax";
}

std::string Change(const onnx::NodeProto& node, int from, int to) {
  const int opset = OpsetOfChange(node.op_type(), from, to);
  if (!IsOfOnnx(node) || opset == 0) return "";
  // From set 13 on, more inputs may be absent; with scales and without sizes, nothing changes.
  if (node.op_type() == "Resize" && opset == 13 && node.input_size() == 3 &&
      OpsetOfChange(node.op_type(), 13, to) == 0) {
    return "";
  }
  return absl::StrCat(node.op_type(), " '", NameOf(node), "' changes in operator set ", opset);
}

std::string ChangeInside(const onnx::NodeProto& node, int from, int to) {
  for (const auto& attribute : node.attribute()) {
    for (const auto& inner : attribute.g().node()) {
      std::string change = Change(inner, from, to);
      if (change.empty()) change = ChangeInside(inner, from, to);
      if (!change.empty()) return change;
    }
  }
  return "";
}

void MoveAttributes(const BecameOperands& moved, onnx::NodeProto* node, ModelEditor* editor) {
  std::vector<std::string> operands;
  for (const char* name : moved.attributes) {
    const onnx::AttributeProto* attribute = FindAttribute(*node, name);
    operands.emplace_back();
    if (attribute == nullptr) continue;
    const std::string base = absl::StrCat(NameOf(*node), "_", name);
    const bool is_list = attribute->type() == onnx::AttributeProto::INTS;
    const std::vector<int64_t> list(attribute->ints().begin(), attribute->ints().end());
    operands.back() =
        editor->AddConstant(base, is_list ? Tensor::Ints(list) : Tensor::ScalarF32(attribute->f()));
  }
  while (!operands.empty() && operands.back().empty()) operands.pop_back();
  for (const std::string& operand : operands) node->add_input(operand);
  auto* attributes = node->mutable_attribute();
  attributes->erase(std::remove_if(attributes->begin(), attributes->end(),
                                   [&](const auto& attribute) {
                                     const auto& names = moved.attributes;
                                     return std::find(names.begin(), names.end(),
                                                      attribute.name()) != names.end();
                                   }),
                    attributes->end());
}

void SetAxis(int64_t axis, onnx::NodeProto* node) {
  node->clear_attribute();
  auto* attribute = node->add_attribute();
  attribute->set_name("axis");
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(axis);
}

// softmax(x, axis) = reshape(softmax(flatten(x, axis), 1), shape(x))
void RaiseSoftmax(int position, ModelEditor* editor) {
  const onnx::NodeProto node = editor->node(position);
  const int64_t axis = IntAttribute(node, "axis", 1);
  if (axis == -1) return;
  const std::string x = node.input(0), y = node.output(0);
  const std::string shape = editor->NewName(y + "_shape"), flat = editor->NewName(y + "_flat");
  const std::string flat_x = editor->NewName(x + "_flat");
  editor->AddBefore(position, "Shape", {x}, shape);
  SetAxis(axis, editor->AddBefore(position, "Flatten", {x}, flat_x));
  editor->node(position).set_input(0, flat_x);
  SetAxis(1, &editor->node(position));
  editor->RenameOutput(position, y, flat);
  editor->AddAfter(position, "Reshape", {flat, shape}, y);
}

}  // namespace

std::string RaiseNodes(int from, int to, ModelEditor* editor) {
  for (int i = 0; i < editor->size(); ++i) {
    onnx::NodeProto& node = editor->node(i);
    if (std::string change = ChangeInside(node, from, to); !change.empty()) return change;
    if (!IsOfOnnx(node)) continue;
    const BecameOperands* found = nullptr;
    for (const BecameOperands& moved : Moved()) {
      if (node.op_type() == moved.type && from < moved.opset && moved.opset <= to) found = &moved;
    }
    const bool is_softmax = IsSoftmax(node) && from < kSoftmaxOpset && kSoftmaxOpset <= to;
    const int opset = found != nullptr ? found->opset : is_softmax ? kSoftmaxOpset : from;
    std::string change = opset > from ? Change(node, from, opset - 1) : "";
    if (change.empty()) change = Change(node, opset, to);
    if (!change.empty()) return change;
    if (found != nullptr) MoveAttributes(*found, &node, editor);
    if (is_softmax) RaiseSoftmax(i, editor);
  }
  return "";
}

}  // namespace lemma
