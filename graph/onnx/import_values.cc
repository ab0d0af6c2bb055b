// Computes values at import.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/barrier.h"
#include "graph/onnx/fold.h"
#include "graph/onnx/importer.h"
#include "graph/op_table.h"
#include "graph/sizes/specialize.h"

namespace lemma {
namespace {

constexpr int64_t kMaxParameter = 64;  // elements of an input whose value a certificate holds

// ONNX stores reals as f32. The shortest decimal that rounds to the same f32 is what people wrote.
// It stays the same after another export and import, whether it is given or a default.
double ShortestDecimal(double value) {
  char text[32];
  float single = static_cast<float>(value), back = 0;
  if (!std::isfinite(single)) return value;
  for (int digits = 1; digits <= 9; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(single));
    if (absl::SimpleAtof(text, &back) && back == single) break;
  }
  double result = value;
  return absl::SimpleAtod(text, &result) ? result : value;
}

void RoundToOnnx(Attrs* attrs) {
  for (auto& [name, attr] : *attrs) {
    if (double* value = std::get_if<double>(&attr)) *value = ShortestDecimal(*value);
    if (auto* values = std::get_if<std::vector<double>>(&attr)) {
      for (double& value : *values) value = ShortestDecimal(value);
    }
  }
}

// Makes reals that were not given the f32 numbers that ONNX means. In f64, the numbers given are
// exact: ONNX's own attributes are f32, and others are elements of f64 tensors.
void RoundDefaults(const Attrs& given, Attrs* complete) {
  for (auto& [name, attr] : *complete) {
    if (given.count(name) > 0) continue;
    if (double* value = std::get_if<double>(&attr)) *value = static_cast<float>(*value);
  }
}

// The symbolic dimensions in the sizes of the node's results and in its attributes.
std::map<std::string, SizeRange> DimsIn(const Node& node) {
  std::map<std::string, SizeRange> dims;
  for (const TensorType& type : node.types()) {
    for (const int64_t size : type.shape) CollectDims(size, &dims);
  }
  for (const auto& [name, attr] : node.attrs()) {
    if (auto* size = std::get_if<int64_t>(&attr)) CollectDims(*size, &dims);
    if (auto* sizes = std::get_if<std::vector<int64_t>>(&attr)) {
      for (const int64_t size : *sizes) CollectDims(size, &dims);
    }
  }
  return dims;
}

}  // namespace

absl::StatusOr<std::vector<Value>> ModelImporter::Apply(absl::string_view op,
                                                        std::vector<Value> inputs, Attrs attrs) {
  const OpDef* def = FindOp(op);
  if (def != nullptr) {
    auto complete = CompleteAttrs(*def, attrs);
    if (!complete.ok()) return complete.status();
    const bool is_f64 = std::any_of(inputs.begin(), inputs.end(),
                                    [](const Value& v) { return v.dtype() == DType::kF64; });
    if (is_f64) {
      RoundDefaults(attrs, &*complete);
    } else {
      RoundToOnnx(&*complete);
    }
    attrs = *std::move(complete);
  }
  auto outputs = ApplyOp(op, std::move(inputs), std::move(attrs));
  if (!outputs.ok()) return outputs;
  std::vector<Tensor> values;
  const Node& node = (*outputs)[0].node();
  if (IsSymbolic(node)) {
    KeepMakers(&*outputs);
    return outputs;
  }
  if (WidensIntegers(node)) return outputs;
  for (const TensorType& type : node.types()) {
    if (type.num_elements() > kMaxFoldElements) return outputs;
  }
  for (const Value& input : node.inputs()) {
    if (input.node().kind() != Node::Kind::kConstant) return outputs;
    values.push_back(input.node().payload());
  }
  auto results = FoldNode(node, values);
  if (!results.ok()) return outputs;  // stays an application, and fails at run time
  for (size_t i = 0; i < outputs->size(); ++i) {
    (*outputs)[i] = builder_.Constant(std::move((*results)[i]));
  }
  return outputs;
}

void ModelImporter::NoteMakers(const std::vector<Value>& results) {
  for (const Value& result : results) {
    for (const int64_t size : result.shape()) {
      std::map<std::string, SizeRange> dims;
      CollectDims(size, &dims);
      if (dims.size() != 1 || SizeName(size) != dims.begin()->first) continue;
      if (IsResultSize(dims.begin()->second)) makers_.emplace(dims.begin()->first, result);
    }
  }
}

void ModelImporter::KeepMakers(std::vector<Value>* results) const {
  const NodePtr node = results->front().node_ptr();  // the results change below
  const std::map<std::string, SizeRange> dims = DimsIn(*node);
  std::map<std::string, SizeRange> read;
  for (const Value& input : node->inputs()) {
    for (const int64_t size : input.shape()) CollectDims(size, &read);
  }
  for (const auto& [name, range] : dims) {
    const auto maker = makers_.find(name);
    if (!IsResultSize(range) || read.count(name) > 0 || maker == makers_.end()) continue;
    for (Value& result : *results) result = Barrier(result, maker->second);
  }
}

std::optional<Tensor> ModelImporter::Known(const Value& value) {
  asked_.push_back(value);
  auto known = Compute(value, 0);
  if (known || !HasSymbols()) return known;
  // Numbers that are computed from symbolic sizes, such as whether one is -1.
  known = KnownSizes(value);
  if (known && IsSymbolic(known->data<int64_t>())) return std::nullopt;
  return known;
}

std::optional<Tensor> ModelImporter::KnownWithoutInputs(const Value& value) {
  const Use use = use_;
  use_ = Use::kNoInputs;
  std::optional<Tensor> known = Known(value);
  use_ = use;
  return known;
}

std::optional<Tensor> ModelImporter::KnownForLoop(const Value& value) {
  const Use use = use_;
  if (options_.keeps_loops) use_ = std::min(use_, Use::kNone);
  std::optional<Tensor> known = Known(value);
  use_ = use;
  return known;
}

std::optional<Tensor> ModelImporter::KnownSizes(const Value& value) {
  asked_.push_back(value);
  auto known = Compute(value, 0);
  if (known || !HasSymbols()) return known;
  auto elements = sizes_[static_cast<size_t>(use_)].Of(value);
  if (!elements) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const IndexExpr& e : *elements) sizes.push_back(*ToSize(e));
  auto tensor = Tensor::FromInts({DType::kI64, value.shape()}, sizes);
  if (!tensor.ok()) return std::nullopt;
  return *std::move(tensor);
}

std::optional<Tensor> ModelImporter::Compute(const Value& value, int depth) {
  constexpr int kMaxDepth = 500;  // far more than any shape computation needs
  const Node& node = value.node();
  if (node.has_payload()) return node.payload();
  if (node.kind() == Node::Kind::kInput) {
    const std::string& name = input_names_[node.input_index()];
    const Tensor* value = ValueOf(name);
    if (value == nullptr || use_ == Use::kNoInputs) return std::nullopt;
    const bool given = given_.count(name) > 0;
    const bool is_parameter = !IsFloat(value->dtype()) && value->size() <= kMaxParameter;
    if (given && (use_ == Use::kNone || (use_ == Use::kIntegers && !is_parameter))) {
      return std::nullopt;
    }
    if (given) result_.fixed_inputs.emplace(name, *value);
    Note(absl::StrCat("input '", name, "' is fixed to ",
                      given ? "the value given" : "its default: shapes depend on it"));
    return *value;
  }
  if (!node.is_op() || depth > kMaxDepth || IsSymbolic(node)) return std::nullopt;
  auto& known = known_[static_cast<int>(use_)];
  auto memo = known.find(value);
  if (memo != known.end()) return memo->second;
  known[value] = std::nullopt;
  for (const TensorType& type : node.types()) {
    if (type.num_elements() > kMaxFoldElements) return std::nullopt;
  }
  std::vector<Tensor> inputs;
  for (const Value& input : node.inputs()) {
    auto tensor = Compute(input, depth + 1);
    if (!tensor) return std::nullopt;
    inputs.push_back(*std::move(tensor));
  }
  auto outputs = FoldNode(node, inputs);
  if (!outputs.ok()) return std::nullopt;
  return known[value] = (*outputs)[value.output()];
}

}  // namespace lemma
