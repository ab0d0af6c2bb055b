#include "graph/onnx/quantization/model_index.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/onnx/convert.h"

namespace lemma {
namespace {

void AddReads(const onnx::GraphProto& graph, std::set<std::string>* reads) {
  std::set<std::string> inner, own;
  for (const auto& input : graph.input()) own.insert(input.name());
  for (const auto& tensor : graph.initializer()) own.insert(tensor.name());
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) inner.insert(input);
    for (const std::string& name : CapturedBy(node)) inner.insert(name);
    for (const std::string& output : node.output()) own.insert(output);
  }
  for (const auto& output : graph.output()) inner.insert(output.name());
  for (const std::string& name : inner) {
    if (!name.empty() && own.count(name) == 0) reads->insert(name);
  }
}

void AddNames(const onnx::GraphProto& graph, std::set<std::string>* names) {
  for (const auto& input : graph.input()) names->insert(input.name());
  for (const auto& tensor : graph.initializer()) names->insert(tensor.name());
  for (const auto& output : graph.output()) names->insert(output.name());
  for (const auto& info : graph.value_info()) names->insert(info.name());
  for (const auto& node : graph.node()) {
    names->insert(node.name());
    for (const std::string& input : node.input()) names->insert(input);
    for (const std::string& output : node.output()) names->insert(output);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) AddNames(attribute.g(), names);
      for (const auto& inner : attribute.graphs()) AddNames(inner, names);
    }
  }
}

}  // namespace

bool IsOfOnnx(const onnx::NodeProto& node) {
  return node.domain().empty() || node.domain() == "ai.onnx";
}

const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, absl::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t IntAttribute(const onnx::NodeProto& node, absl::string_view name, int64_t otherwise) {
  const onnx::AttributeProto* attribute = FindAttribute(node, name);
  return attribute == nullptr ? otherwise : attribute->i();
}

float FloatAttribute(const onnx::NodeProto& node, absl::string_view name, float otherwise) {
  const onnx::AttributeProto* attribute = FindAttribute(node, name);
  return attribute == nullptr ? otherwise : attribute->f();
}

std::set<std::string> CapturedBy(const onnx::NodeProto& node) {
  std::set<std::string> names;
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) AddReads(attribute.g(), &names);
    for (const auto& graph : attribute.graphs()) AddReads(graph, &names);
  }
  return names;
}

std::string NameOf(const onnx::NodeProto& node) {
  if (!node.name().empty() || node.output_size() == 0) return node.name();
  return node.output(0);
}

ModelIndex::ModelIndex(const onnx::ModelProto* model, std::string folder)
    : model_(model), folder_(std::move(folder)) {
  for (const auto& input : graph().input()) inputs_.insert(input.name());
  for (const auto& output : graph().output()) outputs_.insert(output.name());
  // Before IR version 4, initializers had to be inputs; since then, such an input is a default.
  const bool replaceable = model->ir_version() >= 4;
  for (const auto& tensor : graph().initializer()) {
    if (replaceable && inputs_.count(tensor.name()) > 0) continue;
    constants_[tensor.name()].tensor = &tensor;
    inputs_.erase(tensor.name());
  }
  for (int i = 0; i < graph().node_size(); ++i) {
    const onnx::NodeProto& node = graph().node(i);
    for (const std::string& input : node.input()) {
      if (!input.empty()) readers_[input].push_back(i);
    }
    for (const std::string& output : node.output()) {
      if (!output.empty()) makers_[output] = i;
    }
    for (const std::string& name : CapturedBy(node)) captured_.insert(name);
    AddConstantNode(node);
  }
}

void ModelIndex::AddConstantNode(const onnx::NodeProto& node) {
  if (!IsOfOnnx(node) || node.output_size() != 1) return;
  const onnx::AttributeProto* value = FindAttribute(node, "value");
  if (node.op_type() == "Constant" && value != nullptr && value->has_t()) {
    constants_[node.output(0)].tensor = &value->t();
  }
  if (node.input_size() != 1) return;
  const Stored* operand = Find(node.input(0));
  if (node.op_type() == "Identity" && operand != nullptr) {
    constants_[node.output(0)] = Stored(*operand);
    return;
  }
  if (node.op_type() != "Transpose") return;
  const onnx::AttributeProto* axes = FindAttribute(node, "perm");
  if (operand == nullptr || operand->tensor->dims_size() != 2) return;
  const bool swaps = axes == nullptr || (axes->ints_size() == 2 && axes->ints(0) == 1);
  constants_[node.output(0)] = Stored{operand->tensor, operand->transposed != swaps};
}

int ModelIndex::MakerOf(const std::string& value) const {
  auto it = makers_.find(value);
  return it == makers_.end() ? -1 : it->second;
}

std::vector<int> ModelIndex::ReadersOf(const std::string& value) const {
  auto it = readers_.find(value);
  if (it == readers_.end() || captured_.count(value) > 0 || IsOutput(value)) return {};
  return it->second;
}

int ModelIndex::OnlyReaderOf(const std::string& value) const {
  const std::vector<int> readers = ReadersOf(value);
  return readers.size() == 1 ? readers[0] : -1;
}

const ModelIndex::Stored* ModelIndex::Find(const std::string& value) const {
  auto it = constants_.find(value);
  return it == constants_.end() ? nullptr : &it->second;
}

bool ModelIndex::IsConstant(const std::string& value) const { return Find(value) != nullptr; }

int ModelIndex::ConstantType(const std::string& value) const {
  const Stored* stored = Find(value);
  return stored == nullptr ? 0 : stored->tensor->data_type();
}

Shape ModelIndex::ConstantShape(const std::string& value) const {
  const Stored* stored = Find(value);
  if (stored == nullptr) return {};
  Shape shape(stored->tensor->dims().begin(), stored->tensor->dims().end());
  if (stored->transposed) std::swap(shape[0], shape[1]);
  return shape;
}

absl::StatusOr<Tensor> ModelIndex::Constant(const std::string& value) const {
  const Stored* stored = Find(value);
  if (stored == nullptr) {
    return absl::InternalError(absl::StrCat("'", value, "' is not a constant"));
  }
  auto tensor = ToTensor(*stored->tensor, folder_);
  if (!tensor.ok()) {
    return absl::Status(tensor.status().code(),
                        absl::StrCat("constant '", value, "': ", tensor.status().message()));
  }
  if (!stored->transposed) return tensor;
  const int64_t rows = tensor->shape()[0], columns = tensor->shape()[1];
  std::vector<double> values(static_cast<size_t>(tensor->size()));
  for (int64_t i = 0; i < rows * columns; ++i) {
    values[static_cast<size_t>(i % columns * rows + i / columns)] = tensor->AtDouble(i);
  }
  return Tensor::FromDoubles({tensor->dtype(), {columns, rows}}, values);
}

std::set<std::string> ModelIndex::AllNames() const {
  std::set<std::string> names;
  AddNames(graph(), &names);
  return names;
}

}  // namespace lemma
