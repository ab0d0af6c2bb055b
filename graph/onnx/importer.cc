#include "graph/onnx/importer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/onnx/convert.h"
#include "graph/sizes/totals.h"

namespace lemma {
namespace {

// The newest operator set whose operators the importers know.
constexpr int kNewestOpset = 26;

absl::Status Prefixed(absl::string_view prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

// Inputs and outputs must be tensors; ONNX has other kinds.
absl::Status CheckIsTensor(const onnx::TypeProto& type) {
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      return absl::OkStatus();
    case onnx::TypeProto::kSequenceType:
      return absl::UnimplementedError("unsupported: a sequence");
    case onnx::TypeProto::kMapType:
      return absl::UnimplementedError("unsupported: a map");
    case onnx::TypeProto::kOptionalType:
      return absl::UnimplementedError("unsupported: an optional");
    case onnx::TypeProto::kSparseTensorType:
      return absl::UnimplementedError("unsupported: a sparse tensor");
    default:
      return absl::InvalidArgumentError("has no declared type");
  }
}

std::string DimName(const onnx::TensorShapeProto::Dimension& dim) {
  if (dim.has_dim_value() && dim.dim_value() >= 0) return absl::StrCat(dim.dim_value());
  return dim.dim_param().empty() ? "?" : dim.dim_param();
}

OnnxPort ToPort(const onnx::ValueInfoProto& proto) {
  OnnxPort port;
  port.name = proto.name();
  for (const auto& dim : proto.type().tensor_type().shape().dim())
    port.dims.push_back(DimName(dim));
  return port;
}

bool IsFixed(const onnx::TensorShapeProto::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() >= 0;
}

}  // namespace

bool IsTrained(const Tensor& tensor) {
  return (IsFloat(tensor.dtype()) && tensor.type().rank() > 0) || tensor.size() > kMaxFoldElements;
}

std::string NormalDomain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

const Value* Scope::Find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
    auto it = scope->values.find(name);
    if (it != scope->values.end()) return &it->second;
    if (scope->sequences.count(name) != 0) return nullptr;
  }
  return nullptr;
}

const std::vector<Value>* Scope::FindSequence(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
    auto it = scope->sequences.find(name);
    if (it != scope->sequences.end()) return &it->second;
    if (scope->values.count(name) != 0) return nullptr;
  }
  return nullptr;
}

int Scope::opset() const {
  auto it = opsets.find("");
  return it == opsets.end() ? 17 : it->second;
}

ModelImporter::ModelImporter(onnx::ModelProto* model, const ImportOptions& options,
                             std::string folder, std::vector<RawBytes> values)
    : model_(model),
      options_(options),
      files_(std::move(folder)),
      values_(std::move(values)),
      builder_(model->graph().name().empty() ? "main" : model->graph().name()),
      sizes_(4, SizeValues([this](const Value& value) { return Compute(value, 0); })) {}

void ModelImporter::Note(std::string note) {
  for (const std::string& known : result_.notes) {
    if (known == note) return;
  }
  result_.notes.push_back(std::move(note));
}

absl::Status ModelImporter::ReadHeader() {
  OnnxInfo& info = result_.info;
  info.ir_version = model_->ir_version();
  info.producer_name = model_->producer_name();
  info.producer_version = model_->producer_version();
  info.domain = model_->domain();
  info.doc_string = model_->doc_string();
  info.model_version = model_->model_version();
  for (const auto& entry : model_->metadata_props()) info.metadata[entry.key()] = entry.value();
  for (const auto& entry : model_->opset_import()) {
    if (entry.version() < 1 || entry.version() > 1000) {
      return absl::InvalidArgumentError(
          absl::StrCat("operator set ", entry.version(), " does not exist"));
    }
    const int version = static_cast<int>(entry.version());
    auto [known, is_new] = main_.opsets.emplace(NormalDomain(entry.domain()), version);
    if (known->second != version) {
      return absl::InvalidArgumentError(absl::StrCat("operator sets ", known->second, " and ",
                                                     version, " of domain '", known->first,
                                                     "' are both named"));
    }
  }
  if (main_.opsets.empty()) {
    if (model_->ir_version() >= 3) {
      return absl::InvalidArgumentError("the model names no operator set");
    }
    main_.opsets[""] = 1;
  }
  info.opset = main_.opset();
  if (info.opset > kNewestOpset) {
    Note(absl::StrCat("operator set ", info.opset, " is newer than ", kNewestOpset,
                      ", the newest one known here: operators are taken to be those of set ",
                      kNewestOpset));
  }
  info.opsets = main_.opsets;
  for (const auto& function : model_->functions()) {
    const std::string name = absl::StrCat(NormalDomain(function.domain()), ":", function.name());
    if (!functions_.emplace(name, &function).second) {
      return absl::InvalidArgumentError(absl::StrCat("function ", name, " is defined twice"));
    }
  }
  return absl::OkStatus();
}

void ModelImporter::FindChannelBlock() {
  absl::flat_hash_map<std::string, int64_t> channels;
  for (const auto& tensor : model_->graph().initializer()) {
    if (tensor.dims_size() == 4) channels[tensor.name()] = tensor.dims(0);
  }
  bool used = false, is_known = options_.channel_block != 0;
  if (is_known) channel_block_ = options_.channel_block;
  for (const auto& node : model_->graph().node()) {
    if (node.domain() != "com.microsoft.nchwc") continue;
    used = true;
    if (is_known || node.op_type() != "Conv" || node.input_size() < 2) continue;
    auto found = channels.find(node.input(1));
    if (found == channels.end() || found->second % 16 == 0) continue;
    channel_block_ = 8;
    is_known = true;
  }
  result_.guesses_channel_block = used && !is_known;
  if (used) {
    Note(absl::StrCat("the layout NCHWc is taken to have blocks of ", channel_block_, " channels"));
  }
}

RawBytes ModelImporter::TakeValues(int initializer) {
  if (initializer < static_cast<int>(values_.size()) && values_[initializer].data != nullptr) {
    return values_[initializer];
  }
  onnx::TensorProto* proto = model_->mutable_graph()->mutable_initializer(initializer);
  if (static_cast<int64_t>(proto->raw_data().size()) < kMinSharedBytes) return {};
  const std::shared_ptr<const std::string> bytes(proto->release_raw_data());
  return {std::shared_ptr<const void>(bytes, bytes->data()), static_cast<int64_t>(bytes->size())};
}

absl::Status ModelImporter::ReadInitializers(const onnx::GraphProto& graph, Scope* scope) {
  if (graph.sparse_initializer_size() > 0) {
    return absl::UnimplementedError("unsupported: sparse initializers");
  }
  std::set<std::string> inputs;
  if (scope == &main_ && model_->ir_version() >= 4) {
    for (const auto& input : graph.input()) inputs.insert(input.name());
  }
  for (int i = 0; i < graph.initializer_size(); ++i) {
    const onnx::TensorProto& proto = graph.initializer(i);
    std::string what = absl::StrCat("initializer '", proto.name(), "'");
    if (IsOpaque(FromOnnxType(proto.data_type()).value_or(DType::kF32)) &&
        inputs.count(proto.name()) == 0) {
      if (proto.name().empty()) return absl::InvalidArgumentError("an initializer has no name");
      auto value = OpaqueConstant(proto, *scope);
      if (!value.ok()) return Prefixed(what, value.status());
      if (!scope->values.emplace(proto.name(), *value).second) {
        return absl::InvalidArgumentError(absl::StrCat(what, " is defined twice"));
      }
      initializers_.insert(proto.name());
      continue;
    }
    const bool is_inside = proto.data_location() != onnx::TensorProto::EXTERNAL;
    auto tensor =
        ToTensor(proto, &files_, scope == &main_ && is_inside ? TakeValues(i) : RawBytes());
    if (!tensor.ok()) return Prefixed(what, tensor.status());
    if (proto.name().empty()) return absl::InvalidArgumentError("an initializer has no name");
    if (inputs.count(proto.name()) > 0) {
      if (!result_.info.defaults.emplace(proto.name(), *std::move(tensor)).second) {
        return absl::InvalidArgumentError(absl::StrCat(what, " is defined twice"));
      }
      continue;
    }
    if (MistakesForSize(*tensor)) {
      return absl::InvalidArgumentError(absl::StrCat(what, " has a number of 2^62 or more"));
    }
    bool trained = IsTrained(*tensor);
    if (proto.doc_string() == kConstantMark) trained = false;
    if (proto.doc_string() == kWeightMark) trained = true;
    Value value =
        trained ? builder_.Weight(proto.name(), *tensor) : builder_.Constant(*std::move(tensor));
    builder_.Label(value, proto.name());
    if (!scope->values.emplace(proto.name(), value).second) {
      return absl::InvalidArgumentError(absl::StrCat(what, " is defined twice"));
    }
    initializers_.insert(proto.name());
    if (IsFloat(value.dtype()) && scope == &main_) parameters_.emplace_back(proto.name(), value);
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> ModelImporter::OpaqueConstant(const onnx::TensorProto& proto,
                                                    const Scope& scope) {
  onnx::NodeProto node;
  node.set_op_type("Constant");
  node.add_output(proto.name());
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name("value");
  attribute->set_type(onnx::AttributeProto::TENSOR);
  *attribute->mutable_t() = proto;
  attribute->mutable_t()->clear_name();
  attribute->mutable_t()->clear_doc_string();
  auto values = MakeOpaque(node, scope);
  if (!values.ok()) return values.status();
  builder_.Label((*values)[0], proto.name());
  return (*values)[0];
}

const Tensor* ModelImporter::ValueOf(const std::string& input) const {
  auto given = given_.find(input);
  if (given != given_.end()) return &given->second;
  auto fallback = result_.info.defaults.find(input);
  return fallback == result_.info.defaults.end() ? nullptr : &fallback->second;
}

bool ModelImporter::MistakesForSize(const Tensor& tensor) const {
  constexpr int64_t kMost = 4096;  // more numbers than a shape has
  if (tensor.dtype() != DType::kI64 || tensor.size() > kMost) return false;
  const auto values = tensor.data<int64_t>();
  const bool odd = std::any_of(values.begin(), values.end(), MayBeTakenForSymbolic);
  has_odd_numbers_ = has_odd_numbers_ || odd;
  return odd && HasSymbols();
}

bool ModelImporter::MistakesForSize(const OnnxAttr& attr) const {
  if (auto* tensor = std::get_if<Tensor>(&attr)) return MistakesForSize(*tensor);
  auto* number = std::get_if<int64_t>(&attr);
  auto* numbers = std::get_if<std::vector<int64_t>>(&attr);
  const bool odd =
      (number != nullptr && MayBeTakenForSymbolic(*number)) ||
      (numbers != nullptr && std::any_of(numbers->begin(), numbers->end(), MayBeTakenForSymbolic));
  has_odd_numbers_ = has_odd_numbers_ || odd;
  return odd && HasSymbols();
}

int64_t ModelImporter::SymbolicSize(const std::string& name) {
  // Exporters write "past + 1" for a size that they know to be the sum.
  auto dim = [this](const std::string& part) -> std::optional<IndexExpr> {
    auto bound = bound_dims_.find(part);
    if (bound != bound_dims_.end()) return ToExpr(bound->second);
    auto given = options_.dims.find(part);
    if (given == options_.dims.end() && dim_names_.count(part) == 0) return std::nullopt;
    auto range = options_.ranges.find(part);
    IndexExpr expr = given != options_.dims.end()     ? IndexExpr(given->second)
                     : range != options_.ranges.end() ? SymbolicDim(part, range->second)
                                                      : SymbolicDim(part);
    bound_dims_.emplace(part, *ToSize(expr));
    return expr;
  };
  std::optional<IndexExpr> expr = dim(name);
  if (!expr) expr = ParseSize(name, dim);
  if (!expr) {
    dim_names_.insert(name);
    expr = dim(name);
  }
  return ToSize(*expr).value();
}

void ModelImporter::TakeGivenValues() {
  given_ = options_.input_values;
  std::vector<const onnx::ValueInfoProto*> all, without_default;
  for (const auto& input : model_->graph().input()) {
    if (initializers_.count(input.name()) > 0) continue;
    all.push_back(&input);
    if (result_.info.defaults.count(input.name()) == 0) without_default.push_back(&input);
  }
  const std::vector<Tensor>& values = options_.inputs;
  if (values.size() != all.size()) all = std::move(without_default);
  if (values.size() != all.size()) return;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& declared = all[i]->type().tensor_type();
    bool fits = declared.elem_type() == ToOnnxType(values[i].dtype());
    if (declared.has_shape()) {
      fits = fits && declared.shape().dim_size() == values[i].type().rank();
      for (int d = 0; fits && d < values[i].type().rank(); ++d) {
        const auto& dim = declared.shape().dim(d);
        fits = !IsFixed(dim) || dim.dim_value() == values[i].shape()[d];
        auto named = options_.dims.find(dim.dim_param());
        fits = fits && (named == options_.dims.end() || named->second == values[i].shape()[d]);
      }
    }
    if (fits) given_.emplace(all[i]->name(), values[i]);
  }
}

absl::StatusOr<Shape> ModelImporter::BindDims(const onnx::ValueInfoProto& input) {
  Shape shape;
  const auto& dims = input.type().tensor_type().shape().dim();
  const Tensor* value = ValueOf(input.name());
  if (value != nullptr && value->type().rank() != dims.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", dims.size(), " is declared, the value is ", value->type().ToString()));
  }
  for (int axis = 0; axis < dims.size(); ++axis) {
    if (IsFixed(dims[axis])) {
      shape.push_back(dims[axis].dim_value());
      continue;
    }
    std::string name = dims[axis].dim_param();
    if (name.empty()) name = absl::StrCat(input.name(), ".", axis);
    auto option = options_.dims.find(name);
    if (options_.symbolic && option == options_.dims.end()) {
      shape.push_back(SymbolicSize(name));
      if (value != nullptr) valued_dims_.insert(name);
      usual_sizes_.emplace(name,
                           value != nullptr ? value->shape()[axis] : UsualSize(axis, dims.size()));
      continue;
    }
    int64_t size = option != options_.dims.end() ? option->second
                   : value != nullptr            ? value->shape()[axis]
                                                 : options_.default_dim;
    auto [bound, is_new] = bound_dims_.emplace(name, size);
    if (is_new && option == options_.dims.end()) {
      if (value == nullptr) result_.default_dims.push_back(name);
      Note(
          absl::StrCat("dimension ", name, " of input '", input.name(), "' is taken to be ", size));
    }
    if (bound->second < 0) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", name, " is negative"));
    }
    if (is_new && option == options_.dims.end() && given_.count(input.name()) > 0) {
      result_.bound_dims[name] = size;
    }
    shape.push_back(bound->second);
  }
  return shape;
}

DimValues ModelImporter::SizesOfValues() const {
  DimValues sizes;
  for (const std::string& name : valued_dims_) sizes.insert(*usual_sizes_.find(name));
  return sizes;
}

DimValues ModelImporter::UsualSizes() const {
  DimValues sizes = options_.dims;
  std::set<std::string> fixed = valued_dims_;
  for (const auto& [name, size] : options_.dims) fixed.insert(name);
  sizes.insert(usual_sizes_.begin(), usual_sizes_.end());
  FitTotals(fixed, &sizes);
  return sizes;
}

absl::StatusOr<TensorType> ModelImporter::InputType(const onnx::ValueInfoProto& input) {
  if (auto status = CheckIsTensor(input.type()); !status.ok()) return status;
  auto dtype = FromOnnxType(input.type().tensor_type().elem_type());
  if (!dtype.ok()) return dtype.status();
  const Tensor* value = ValueOf(input.name());
  TensorType type{*dtype, {}};
  if (input.type().tensor_type().has_shape()) {
    auto shape = BindDims(input);
    if (!shape.ok()) return shape.status();
    type.shape = *std::move(shape);
  } else if (value != nullptr) {
    type.shape = value->shape();
  } else {
    return absl::UnimplementedError("unsupported: no shape is declared, and no value is given");
  }
  if (value != nullptr && value->type() != type && !IsSymbolic(type.shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat(type.ToString(), " is declared, the value is ", value->type().ToString()));
  }
  if (type.num_bytes() == INT64_MAX && !IsSymbolic(type.shape)) {
    return absl::InvalidArgumentError(absl::StrCat(type.ToString(), " is too large"));
  }
  return type;
}

absl::Status ModelImporter::ReadInputs(Scope* scope) {
  for (const auto& input : model_->graph().input()) {
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      if (!IsFixed(dim) && IsDimName(dim.dim_param())) dim_names_.insert(dim.dim_param());
    }
  }
  for (const auto& input : model_->graph().input()) {
    if (initializers_.count(input.name()) != 0) {  // it has a value: a weight, before IR version 4
      const TensorType& type = scope->values[input.name()].type();
      const auto& declared = input.type().tensor_type();
      if (declared.elem_type() != ToOnnxType(type.dtype)) {
        return absl::InvalidArgumentError(absl::StrCat("input '", input.name(),
                                                       "': its initializer is ", type.ToString(),
                                                       ", another type is declared"));
      }
      bool fits = !declared.has_shape() || declared.shape().dim_size() == type.rank();
      for (int i = 0; fits && declared.has_shape() && i < type.rank(); ++i) {
        const auto& dim = declared.shape().dim(i);
        fits = !IsFixed(dim) || dim.dim_value() == type.shape[i];
      }
      if (!fits) {
        return absl::InvalidArgumentError(
            absl::StrCat("input '", input.name(), "': [", absl::StrJoin(ToPort(input).dims, ","),
                         "] is declared, its initializer is ", type.ToString()));
      }
      continue;
    }
    auto type = InputType(input);
    if (!type.ok()) return Prefixed(absl::StrCat("input '", input.name(), "'"), type.status());
    Value value = builder_.Input(input.name(), *std::move(type));
    input_names_.push_back(input.name());
    if (result_.info.defaults.count(input.name()) > 0) {
      Note(absl::StrCat("input '", input.name(), "' has a default value, which is not folded: ",
                        "callers may give another"));
    }
    result_.info.inputs.push_back(ToPort(input));
    if (input.name().empty() || !scope->values.emplace(input.name(), value).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", input.name(), "' is defined twice"));
    }
  }
  return CheckDimsUsed();
}

absl::Status ModelImporter::CheckDimsUsed() const {
  std::set<std::string> named;
  for (const auto& [name, size] : options_.dims) named.insert(name);
  for (const auto& [name, range] : options_.ranges) named.insert(name);
  for (const std::string& name : named) {
    if (bound_dims_.count(name) != 0) continue;
    std::string known = absl::StrJoin(bound_dims_, ", ", [](std::string* out, const auto& entry) {
      absl::StrAppend(out, entry.first);
    });
    return absl::InvalidArgumentError(
        absl::StrCat("no dimension is called ", name,
                     known.empty() ? "; every dimension has a size" : "; there are: ", known));
  }
  return absl::OkStatus();
}

absl::Status ModelImporter::ReadOutputs(const Scope& scope) {
  for (const auto& output : model_->graph().output()) {
    std::string what = absl::StrCat("output '", output.name(), "'");
    if (output.type().value_case() != onnx::TypeProto::VALUE_NOT_SET) {
      auto status = CheckIsTensor(output.type());
      if (!status.ok()) return Prefixed(what, status);
    }
    const Value* value = scope.Find(output.name());
    if (value == nullptr)
      return absl::UnimplementedError("unsupported: " + what + " is a sequence");
    const auto& declared = output.type().tensor_type();
    const TensorType& type = value->type();
    OnnxPort port = ToPort(output);
    bool fits = true;
    if (declared.has_shape()) {
      fits = declared.shape().dim_size() == type.rank();
      for (int i = 0; fits && i < type.rank(); ++i) {
        const auto& dim = declared.shape().dim(i);
        fits = !IsFixed(dim) || dim.dim_value() == type.shape[i] || IsSymbolic(type.shape[i]);
      }
    }
    const bool has_type =
        declared.elem_type() == 0 || declared.elem_type() == ToOnnxType(type.dtype);
    if (!fits || !has_type) {
      auto dtype = declared.elem_type() == 0 ? type.dtype : FromOnnxType(declared.elem_type());
      if (!dtype.ok()) return Prefixed(what, dtype.status());
      const std::string differs = absl::StrCat(
          what, " is ", type.ToString(), ", declared is ", Name(*dtype),
          declared.has_shape() ? absl::StrCat("[", absl::StrJoin(port.dims, ","), "]") : "");
      if (!has_type) return absl::InvalidArgumentError(differs);
      // ONNX Runtime warns of such a shape, and gives the results that the nodes compute.
      Note(differs);
      port.dims.clear();
      for (const int64_t size : type.shape) port.dims.push_back(SizeName(size));
    }
    result_.info.outputs.push_back(std::move(port));
    builder_.Output(output.name(), *value);
  }
  return absl::OkStatus();
}

std::optional<TensorType> ModelImporter::DeclaredType(const Scope& scope, const std::string& name) {
  auto it = scope.declared.find(name);
  if (it == scope.declared.end() || !it->second->has_tensor_type()) return std::nullopt;
  const auto& declared = it->second->tensor_type();
  auto dtype = FromOnnxType(declared.elem_type());
  if (!dtype.ok() || !declared.has_shape()) return std::nullopt;
  TensorType type{*dtype, {}};
  for (const auto& dim : declared.shape().dim()) {
    if (IsFixed(dim)) {
      type.shape.push_back(dim.dim_value());
      continue;
    }
    if (options_.symbolic) {
      // Of a dimension that no input has, nothing is known, not even that it is not 0.
      auto expr = ParseSize(dim.dim_param(), [this](const std::string& part) {
        auto bound = bound_dims_.find(part);
        return bound == bound_dims_.end() ? std::nullopt : std::optional(ToExpr(bound->second));
      });
      const auto size = expr ? ToSize(*expr) : std::nullopt;
      if (!size) return std::nullopt;
      type.shape.push_back(*size);
      continue;
    }
    auto bound = bound_dims_.find(dim.dim_param());
    if (bound == bound_dims_.end()) return std::nullopt;
    type.shape.push_back(bound->second);
  }
  return type;
}

void ModelImporter::NoteUntrained() {
  absl::flat_hash_set<const Node*> used;
  for (const NodePtr& node : result_.graph.nodes()) used.insert(node.get());
  for (const auto& [name, value] : parameters_) {
    if (absl::StartsWith(name, "onnx::")) continue;  // PyTorch's names for its own constants
    if (value.type().rank() == 0) {
      Note(absl::StrCat("'", name, "' is not trained: it has no dimensions, so it is a constant"));
    } else if (used.count(&value.node()) == 0) {
      Note(absl::StrCat("'", name, "' is not trained: no output depends on it"));
    }
  }
}

absl::StatusOr<ImportedModel> ModelImporter::Run() {
  const onnx::GraphProto& graph = model_->graph();
  if (auto s = ReadHeader(); !s.ok()) return s;
  FindChannelBlock();
  if (auto s = ReadInitializers(graph, &main_); !s.ok()) return s;
  // The values have been copied; weights should not be held twice.
  for (auto& tensor : *model_->mutable_graph()->mutable_initializer()) {
    delete tensor.release_raw_data();
  }
  TakeGivenValues();
  if (auto s = ReadInputs(&main_); !s.ok()) return s;
  for (const auto* list : {&graph.value_info(), &graph.output()}) {
    for (const auto& info : *list) main_.declared[info.name()] = &info.type();
  }
  std::vector<std::string> outputs;
  for (const auto& output : graph.output()) outputs.push_back(output.name());
  if (outputs.empty()) return absl::InvalidArgumentError("the graph has no outputs");
  if (auto s = ImportNodes(graph.node(), outputs, &main_); !s.ok()) return s;
  if (auto s = ReadOutputs(main_); !s.ok()) return s;
  // A label stays if the value has one.
  for (const auto& [value, name] : names_of_blocked_) builder_.Label(value, name);
  auto built = std::move(builder_).Build();
  if (!built.ok()) return built.status();
  result_.graph = *std::move(built);
  if (options_.training) NoteUntrained();
  KeepOrigin();
  return std::move(result_);
}

void ModelImporter::KeepOrigin() {
  std::set<std::string> data_files;
  for (const auto& tensor : model_->graph().initializer()) {
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") data_files.insert(entry.value());
    }
  }
  result_.info.data_files.assign(data_files.begin(), data_files.end());
  result_.info.mapped_files = files_.mapped();
  for (auto& tensor : *model_->mutable_graph()->mutable_initializer()) {
    tensor.clear_raw_data();
    tensor.clear_float_data();
    tensor.clear_double_data();
    tensor.clear_int32_data();
    tensor.clear_int64_data();
    tensor.clear_uint64_data();
    tensor.clear_external_data();
    tensor.clear_data_location();
    const Value* value = main_.Find(tensor.name());
    if (value == nullptr || !value->node().has_payload()) continue;  // an input's default
    origin_->initializers.emplace(tensor.name(), *value);
  }
  origin_->opsets = main_.opsets;
  origin_->model = std::move(*model_);
  result_.info.origin = std::move(origin_);
}

}  // namespace lemma
