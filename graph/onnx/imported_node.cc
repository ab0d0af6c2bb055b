#include "graph/onnx/imported_node.h"

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/onnx/convert.h"

namespace lemma {
namespace {

using onnx::AttributeProto;

// nullopt for kinds that importers do not use: graphs, sparse tensors, types.
absl::StatusOr<std::optional<OnnxAttr>> ToAttr(const AttributeProto& proto) {
  auto some = [](OnnxAttr attr) { return std::optional<OnnxAttr>(std::move(attr)); };
  AttributeProto::AttributeType type = proto.type();
  if (type == AttributeProto::UNDEFINED) {  // models older than IR version 2
    if (proto.has_f()) type = AttributeProto::FLOAT;
    if (proto.has_i()) type = AttributeProto::INT;
    if (proto.has_s()) type = AttributeProto::STRING;
    if (proto.has_t()) type = AttributeProto::TENSOR;
    if (proto.floats_size() > 0) type = AttributeProto::FLOATS;
    if (proto.ints_size() > 0) type = AttributeProto::INTS;
    if (proto.strings_size() > 0) type = AttributeProto::STRINGS;
  }
  switch (type) {
    case AttributeProto::FLOAT:
      return some(static_cast<double>(proto.f()));
    case AttributeProto::INT:
      return some(static_cast<int64_t>(proto.i()));
    case AttributeProto::STRING:
      return some(proto.s());
    case AttributeProto::FLOATS:
      return some(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::INTS:
      return some(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::STRINGS:
      return some(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeProto::TENSOR: {
      auto tensor = ToTensor(proto.t(), "");
      if (!tensor.ok()) {
        return absl::Status(tensor.status().code(), absl::StrCat("attribute ", proto.name(), ": ",
                                                                 tensor.status().message()));
      }
      return some(*std::move(tensor));
    }
    default:
      return std::optional<OnnxAttr>();
  }
}

// Whether input `i` holds sizes or positions, for which symbolic ones may stand.
bool AreSizes(absl::string_view op_type, int i) {
  static const auto* const inputs =
      new std::set<std::pair<std::string, int>>{{"ConstantOfShape", 0},
                                                {"Expand", 1},
                                                {"GroupQueryAttention", 6},
                                                {"Pad", 1},
                                                {"Range", 0},
                                                {"Range", 1},
                                                {"Range", 2},
                                                {"Reshape", 1},
                                                {"Resize", 3},
                                                {"Slice", 1},
                                                {"Slice", 2},
                                                {"Split", 1},
                                                {"Tile", 1},
                                                {"TopK", 1}};
  return inputs->count({std::string(op_type), i}) > 0;
}

// Whether the attribute does not affect the result.
bool IsHint(absl::string_view attr) {
  return attr == "consumed_inputs" || attr == "is_test" || attr == "doc_string";
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImportedNode>> ImportedNode::Make(ModelImporter* importer,
                                                                 const onnx::NodeProto& node,
                                                                 const Scope& scope,
                                                                 int used_outputs) {
  std::unique_ptr<ImportedNode> made(new ImportedNode(importer, node, scope.opset(), used_outputs));
  for (const std::string& name : node.input()) {
    const Value* value = name.empty() ? nullptr : scope.Find(name);
    if (value == nullptr && !name.empty() && scope.FindSequence(name) != nullptr) {
      return made->Unsupported(absl::StrCat("input '", name, "' is a sequence"));
    }
    made->inputs_.push_back(value == nullptr ? Value() : *value);
  }
  while (!made->inputs_.empty() && !made->inputs_.back()) made->inputs_.pop_back();
  for (const AttributeProto& proto : node.attribute()) {
    if (!proto.ref_attr_name().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", proto.name(), " is one of a function's, but in none"));
    }
    auto attr = ToAttr(proto);
    if (absl::IsUnimplemented(attr.status())) return made->Unsupported(attr.status().message());
    if (!attr.ok()) return attr.status();
    if (*attr && importer->MistakesForSize(**attr)) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", proto.name(), " has a number of 2^62 or more"));
    }
    if (*attr) {
      made->attrs_.emplace(proto.name(), **std::move(attr));
    } else {
      made->opaque_attrs_.insert(proto.name());
    }
  }
  auto status = made->AlignLegacyBroadcast();
  if (!status.ok()) return status;
  return made;
}

// Before operator set 7, an element-wise operator broadcast its second operand only on request,
// from dimension `axis` of the first operand on; a vector of slopes belonged to the channels.
absl::Status ImportedNode::AlignLegacyBroadcast() {
  if (opset_ >= 7 || inputs_.size() < 2 || !inputs_[0] || !inputs_[1]) return absl::OkStatus();
  const bool slopes = op_type() == "PRelu" && inputs_[1].type().num_elements() > 1;
  if (slopes) attrs_["axis"] = int64_t{1};
  if (attrs_.erase("broadcast") == 0 && !slopes) return absl::OkStatus();
  auto axis = attrs_.find("axis");
  if (axis == attrs_.end()) return absl::OkStatus();
  const int64_t* position = std::get_if<int64_t>(&axis->second);
  Value& operand = inputs_[1];
  int64_t rank = inputs_[0].type().rank();
  if (position == nullptr || *position < -rank || *position > rank) {
    return absl::InvalidArgumentError("attribute axis is out of range");
  }
  int64_t from = *position < 0 ? *position + rank : *position;
  attrs_.erase(axis);
  Shape shape = operand.shape();
  if (from + static_cast<int64_t>(shape.size()) > rank) {
    return absl::InvalidArgumentError("attribute axis: the second operand does not fit");
  }
  shape.resize(rank - from, 1);
  if (shape == operand.shape()) return absl::OkStatus();
  auto aligned = importer_->Apply("reshape", {operand}, {{"shape", shape}});
  if (!aligned.ok()) return aligned.status();
  operand = (*aligned)[0];
  return absl::OkStatus();
}

bool ImportedNode::HasInput(int i) const { return i >= 0 && i < num_inputs() && inputs_[i]; }

absl::StatusOr<Value> ImportedNode::Input(int i) {
  if (!HasInput(i)) return absl::InvalidArgumentError(absl::StrCat("input ", i, " is missing"));
  inputs_read_.insert(i);
  return inputs_[i];
}

absl::StatusOr<Tensor> ImportedNode::ConstantInput(int i) {
  auto value = Input(i);
  if (!value.ok()) return value.status();
  std::optional<Tensor> tensor =
      AreSizes(op_type(), i) ? importer_->KnownSizes(*value) : importer_->Known(*value);
  if (tensor) return *std::move(tensor);
  return Unsupported(absl::StrCat("input ", i, " '", node_.input(i), "' must be a constant"));
}

absl::StatusOr<Tensor> ImportedNode::OwnConstantInput(int i) {
  auto value = Input(i);
  if (!value.ok()) return value.status();
  std::optional<Tensor> tensor = importer_->KnownWithoutInputs(*value);
  if (tensor) return *std::move(tensor);
  return Unsupported(absl::StrCat("input ", i, " '", node_.input(i), "' must be a constant"));
}

bool ImportedNode::IsAtLeast(int64_t size, int64_t least, ShorterMeans meaning) {
  if (lemma::IsAtLeast(size, least)) return true;
  if (IsSymbolic(size)) {
    importer_->AskFor({size, least, meaning == ShorterMeans::kAnError, Describe(node_)});
  }
  return false;
}

const OnnxAttr* ImportedNode::FindAttr(absl::string_view name) const {
  attrs_read_.insert(std::string(name));
  auto it = attrs_.find(name);
  return it == attrs_.end() ? nullptr : &it->second;
}

absl::Status ImportedNode::CheckUnderstood() const {
  for (int i = 0; i < num_inputs(); ++i) {
    if (HasInput(i) && inputs_read_.count(i) == 0) {
      return Unsupported(absl::StrCat("input ", i, " is not known in operator set ", opset_));
    }
  }
  for (const auto& [name, attr] : attrs_) {
    if (attrs_read_.count(name) == 0 && !IsHint(name)) {
      return Unsupported(
          absl::StrCat("attribute ", name, " is not known in operator set ", opset_));
    }
  }
  if (!opaque_attrs_.empty()) {
    return Unsupported(absl::StrCat("attribute ", *opaque_attrs_.begin(), " is not known"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> ImportedNode::Build(absl::string_view op,
                                                       std::vector<Value> inputs, Attrs attrs) {
  return importer_->Apply(op, std::move(inputs), std::move(attrs));
}

}  // namespace lemma
