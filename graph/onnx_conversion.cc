#include "graph/onnx_conversion.h"

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

// The attribute as T, or the fallback if it is absent; otherwise an error.
template <class T>
absl::StatusOr<T> Get(const OnnxImport& node, absl::string_view name,
                      const std::optional<T>& fallback, const char* kind) {
  const OnnxAttr* attr = node.FindAttr(name);
  if (attr == nullptr) {
    if (fallback) return *fallback;
    return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is missing"));
  }
  if (const T* value = std::get_if<T>(attr)) return *value;
  return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " must be ", kind));
}

}  // namespace

absl::StatusOr<int64_t> OnnxImport::Int(absl::string_view name,
                                        std::optional<int64_t> fallback) const {
  return Get<int64_t>(*this, name, fallback, "an integer");
}
absl::StatusOr<double> OnnxImport::Float(absl::string_view name,
                                         std::optional<double> fallback) const {
  return Get<double>(*this, name, fallback, "a float");
}
absl::StatusOr<std::string> OnnxImport::String(absl::string_view name,
                                               std::optional<std::string> fallback) const {
  return Get<std::string>(*this, name, fallback, "a string");
}
absl::StatusOr<std::vector<int64_t>> OnnxImport::Ints(
    absl::string_view name, std::optional<std::vector<int64_t>> fallback) const {
  return Get<std::vector<int64_t>>(*this, name, fallback, "a list of integers");
}
absl::StatusOr<std::vector<double>> OnnxImport::Floats(
    absl::string_view name, std::optional<std::vector<double>> fallback) const {
  return Get<std::vector<double>>(*this, name, fallback, "a list of floats");
}

absl::StatusOr<std::vector<Value>> OnnxImport::Ops(absl::string_view op, std::vector<Value> inputs,
                                                   Attrs attrs) {
  return Build(op, std::move(inputs), std::move(attrs));
}

absl::StatusOr<Value> OnnxImport::Op(absl::string_view op, std::vector<Value> inputs, Attrs attrs) {
  auto outputs = Build(op, std::move(inputs), std::move(attrs));
  if (!outputs.ok()) return outputs.status();
  return (*outputs)[0];
}

Value OnnxImport::Constant(Tensor tensor) { return Value(Node::Constant(std::move(tensor)), 0); }

absl::StatusOr<Value> OnnxImport::Scalar(DType dtype, double value) {
  auto tensor = Tensor::Filled({dtype, {}}, value);
  if (!tensor.ok()) return tensor.status();
  return Constant(*std::move(tensor));
}

absl::Status OnnxImport::Unsupported(absl::string_view reason) const {
  return absl::UnimplementedError(absl::StrCat("unsupported: ", op_type(), " (", reason, ")"));
}

OnnxImporter ImportAs(std::string op_type, std::string our_op, AttrNames attrs) {
  auto import = [our_op, attrs](OnnxImport& node) -> absl::StatusOr<std::vector<Value>> {
    std::vector<Value> inputs;
    for (int i = 0; i < node.num_inputs(); ++i) {
      auto input = node.Input(i);
      if (!input.ok()) return input.status();
      inputs.push_back(*std::move(input));
    }
    Attrs ours;
    for (const auto& [our_name, onnx_name] : attrs) {
      const OnnxAttr* attr = node.FindAttr(onnx_name);
      if (attr == nullptr) continue;  // ImportAs is only used if Lemma's default equals ONNX's
      if (auto* i = std::get_if<int64_t>(attr)) ours[our_name] = *i;
      if (auto* f = std::get_if<double>(attr)) ours[our_name] = *f;
      if (auto* s = std::get_if<std::string>(attr)) ours[our_name] = *s;
      if (auto* list = std::get_if<std::vector<int64_t>>(attr)) ours[our_name] = *list;
      if (auto* list = std::get_if<std::vector<double>>(attr)) ours[our_name] = *list;
    }
    return node.Ops(our_op, std::move(inputs), std::move(ours));
  };
  return {std::move(op_type), std::move(import)};
}

std::function<absl::Status(OnnxExport&)> ExportAs(std::string op_type, AttrNames attrs) {
  return [op_type, attrs](OnnxExport& out) {
    const Node& node = out.node();
    std::vector<std::string> inputs, outputs;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      inputs.push_back(out.Input(static_cast<int>(i)));
    }
    for (int i = 0; i < node.num_outputs(); ++i) outputs.push_back(out.Output(i));
    std::vector<std::pair<std::string, OnnxAttr>> onnx_attrs;
    for (const auto& [our_name, onnx_name] : attrs) {
      std::visit([&, name = onnx_name](const auto& v) { onnx_attrs.emplace_back(name, v); },
                 node.attrs().at(our_name));
    }
    out.Emit(op_type, std::move(inputs), std::move(outputs), std::move(onnx_attrs));
    return absl::OkStatus();
  };
}

}  // namespace lemma
