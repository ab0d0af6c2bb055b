// Types of results whose sizes are known only at run time: each such size is a new symbolic
// dimension, which may be 0 (IsResultSize in graph/sizes/symbolic_size.h). Whoever executes the
// node checks them.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/opaque.h"
#include "graph/onnx/run_time/choosing_if.h"
#include "graph/onnx/run_time/loop_signature.h"
#include "graph/onnx/structural.h"
#include "graph/sizes/specialize.h"

namespace lemma {
namespace {

using Bounds = std::vector<std::optional<int64_t>>;  // by axis

std::optional<int64_t> NumberOf(const Shape& shape) {
  if (IsSymbolic(shape)) return std::nullopt;
  return NumElements(shape);
}

// What the sizes of result `output` cannot exceed.
Bounds BoundsOf(const onnx::NodeProto& node, const std::vector<Value>& inputs, int output) {
  if (!NormalDomain(node.domain()).empty() || inputs.empty()) return {};
  const Shape& x = inputs[0].shape();
  const auto* axis = structural::FindAttribute(node, "axis");
  const auto along = [&](int64_t at) -> std::optional<int64_t> {
    const auto place = structural::AxisIn(at, static_cast<int64_t>(x.size()));
    if (!place.ok() || IsSymbolic(x[static_cast<size_t>(*place)])) return std::nullopt;
    return x[static_cast<size_t>(*place)];
  };
  if (node.op_type() == "NonZero") return {std::nullopt, NumberOf(x)};
  if (node.op_type() == "NonMaxSuppression" && inputs.size() > 1) {
    return {NumberOf(inputs[1].shape())};  // scores: image, class, box
  }
  // The other sizes are those of the operand (CompleteAroundAxis).
  const auto only = [&](int64_t at) {
    Bounds bounds(x.size());
    const auto place = structural::AxisIn(at, static_cast<int64_t>(x.size()));
    if (place.ok()) bounds[static_cast<size_t>(*place)] = along(at);
    return bounds;
  };
  if (node.op_type() == "Unique" || node.op_type() == "Compress") {
    if (axis == nullptr) return {NumberOf(x)};
    return output > 0 ? Bounds{along(axis->i())} : only(axis->i());
  }
  if (node.op_type() == "TopK") return only(axis == nullptr ? -1 : axis->i());
  return {};
}

// What ONNX's inference leaves out. Compress without an axis gives a vector. Compress, Unique and
// TopK along an axis give their operand's other sizes.
void CompleteAroundAxis(const onnx::NodeProto& node, const std::vector<Value>& inputs, int output,
                        std::optional<OpenType>* type) {
  if (!NormalDomain(node.domain()).empty() || inputs.empty()) return;
  const bool is_compress = node.op_type() == "Compress", is_top = node.op_type() == "TopK";
  if (!is_compress && !is_top && (node.op_type() != "Unique" || output > 0)) return;
  const auto* axis = structural::FindAttribute(node, "axis");
  if (axis == nullptr && !is_top) {
    if (is_compress && !*type) *type = OpenType{inputs[0].dtype(), {std::nullopt}};
    return;
  }
  const Shape& shape = inputs[0].shape();
  const auto at =
      structural::AxisIn(axis == nullptr ? -1 : axis->i(), static_cast<int64_t>(shape.size()));
  if (!at.ok()) return;
  if (!*type) {
    const DType dtype = is_top && output == 1 ? DType::kI64 : inputs[0].dtype();
    *type = OpenType{dtype, Bounds(shape.size())};
  }
  if ((*type)->dims.size() != shape.size()) return;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != static_cast<size_t>(*at) && !(*type)->dims[d]) (*type)->dims[d] = shape[d];
  }
}

// The declared type of a tensor; sizes that are symbols, or not given, are left open. nullopt if
// the element type or the number of dimensions is not declared.
std::optional<OpenType> DeclaredIn(const onnx::TypeProto& declared) {
  if (!declared.has_tensor_type() || !declared.tensor_type().has_shape()) return std::nullopt;
  const auto dtype = FromOnnxType(declared.tensor_type().elem_type());
  if (!dtype.ok()) return std::nullopt;
  OpenType type{*dtype, {}};
  for (const auto& dim : declared.tensor_type().shape().dim()) {
    const bool is_known = dim.has_dim_value() && dim.dim_value() >= 0;
    type.dims.push_back(is_known ? std::optional<int64_t>(dim.dim_value()) : std::nullopt);
  }
  return type;
}

// What the body of a Loop or Scan declares of the node's result `name`. A state that has no
// iteration keeps its first type: sizes in which the two differ are left open.
std::optional<OpenType> DeclaredByBody(const onnx::NodeProto& node, const Scope& scope,
                                       const std::string& name) {
  const auto body = structural::BodyOf(node);
  const auto signature = structural::LoopSignatureOf(node);
  if (!body.ok() || !signature.ok()) return std::nullopt;
  const auto number = static_cast<int>(std::find(node.output().begin(), node.output().end(), name) -
                                       node.output().begin());
  const int at = number + (signature->is_loop ? 1 : 0);
  if (at >= (*body)->output_size()) return std::nullopt;
  std::optional<OpenType> type = DeclaredIn((*body)->output(at).type());
  if (!type) return std::nullopt;
  if (number < signature->states) {
    const auto first = structural::TensorInput(node, scope, signature->parameters() + number);
    if (!first.ok() || first->dtype() != type->dtype ||
        first->shape().size() != type->dims.size()) {
      return std::nullopt;
    }
    for (size_t d = 0; d < type->dims.size(); ++d) {
      if (type->dims[d] != first->shape()[d]) type->dims[d].reset();
    }
    return type;
  }
  const auto axis =
      structural::AxisIn(signature->outputs[static_cast<size_t>(number - signature->states)].axis,
                         static_cast<int64_t>(type->dims.size()) + 1);
  if (!axis.ok()) return std::nullopt;
  type->dims.insert(type->dims.begin() + *axis, std::nullopt);
  return type;
}

// ImageDecoder is newer than ONNX's inference.
void CompleteImage(const onnx::NodeProto& node, std::optional<OpenType>* type) {
  if (node.op_type() != "ImageDecoder" || !NormalDomain(node.domain()).empty()) return;
  if (!*type) *type = OpenType{DType::kU8, Bounds(3)};
  if ((*type)->dims.size() != 3 || (*type)->dims[2]) return;
  const auto* format = structural::FindAttribute(node, "pixel_format");
  (*type)->dims[2] = format != nullptr && format->s() == "Grayscale" ? 1 : 3;
}

bool IsReshape(const onnx::NodeProto& node) {
  return node.op_type() == "Reshape" && NormalDomain(node.domain()).empty();
}

// Of what ONNX's inference leaves out: Reshape to a computed shape. `known`: the elements of the
// shape, if they are known.
std::optional<OpenType> TypeOfReshape(const std::vector<Value>& inputs,
                                      const std::optional<Tensor>& known) {
  if (inputs[1].type().rank() != 1 || IsSymbolic(inputs[1].shape())) return std::nullopt;
  OpenType type{inputs[0].dtype(), {}};
  for (int64_t i = 0; i < inputs[1].shape()[0]; ++i) {
    const int64_t size = known ? known->AtInt(i) : 0;
    const bool is_size = size > 0 && !IsSymbolic(size);
    type.dims.push_back(is_size ? std::optional<int64_t>(size) : std::nullopt);
  }
  return type;
}

// Where they are equal.
OpenType Merged(const TensorType& a, const TensorType& b) {
  OpenType type{a.dtype, {}};
  for (int axis = 0; axis < a.rank(); ++axis) {
    const bool same = a.shape[axis] == b.shape[axis];
    type.dims.push_back(same ? std::optional<int64_t>(a.shape[axis]) : std::nullopt);
  }
  return type;
}

OpenType ToOpen(const TensorType& type) {
  return {type.dtype, {type.shape.begin(), type.shape.end()}};
}

// The name of result size OUTPUT.AXIS. Lemma's export declares it where the result has another name
// than at its import.
std::string DeclaredResultSize(const Scope& scope, const std::string& output, int axis) {
  const auto it = scope.declared.find(output);
  const std::string end = absl::StrCat(".", axis);
  if (it != scope.declared.end() && axis < it->second->tensor_type().shape().dim_size()) {
    const std::string& declared = it->second->tensor_type().shape().dim(axis).dim_param();
    if (declared.size() > end.size() && absl::EndsWith(declared, end)) return declared;
  }
  return output + end;
}

// Whether `name` is an output of the model that no node reads.
bool IsOnlyOutput(const onnx::ModelProto& model, const std::string& name) {
  const auto& outputs = model.graph().output();
  const auto& nodes = model.graph().node();
  const auto is_output = [&](const onnx::ValueInfoProto& output) { return output.name() == name; };
  const auto reads = [&](const onnx::NodeProto& node) {
    const auto names = NamesRead(node);
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return std::any_of(outputs.begin(), outputs.end(), is_output) &&
         std::none_of(nodes.begin(), nodes.end(), reads);
}

}  // namespace

bool HasOpenResults(const onnx::NodeProto& node) {
  static const auto* const names = new absl::flat_hash_set<std::string>{
      "NonZero", "NonMaxSuppression", "Unique", "Compress", "ImageDecoder"};
  return NormalDomain(node.domain()).empty() && names->contains(node.op_type());
}

absl::StatusOr<TensorType> ModelImporter::WithResultSizes(
    const OpenType& open, const std::string& output, const Scope& scope,
    const std::vector<std::optional<int64_t>>& bounds) {
  TensorType type{open.dtype, {}};
  for (size_t axis = 0; axis < open.dims.size(); ++axis) {
    if (open.dims[axis]) {
      type.shape.push_back(*open.dims[axis]);
      continue;
    }
    if (has_odd_numbers_) {
      return absl::UnimplementedError("a number of 2^62 or more could be confused with a size");
    }
    std::string name = DeclaredResultSize(scope, output, static_cast<int>(axis));
    while (result_sizes_.count(name) + bound_dims_.count(name) + dim_names_.count(name) > 0) {
      name += "'";
    }
    result_sizes_.insert(name);
    SizeRange range;
    range.least = 0;
    const bool is_bounded = axis < bounds.size() && bounds[axis];
    if (is_bounded) range.most = std::min(range.most, *bounds[axis]);
    const auto size = ToSize(SymbolicDim(name, range));
    if (!size) return absl::InternalError(absl::StrCat("no size: ", name));
    type.shape.push_back(*size);
    Note(absl::StrCat("size ", name, " is known only at run time"));
  }
  return type;
}

std::optional<OpenType> ModelImporter::DeclaredOpenType(const Scope& scope,
                                                        const std::string& name) const {
  const auto it = scope.declared.find(name);
  return it == scope.declared.end() ? std::nullopt : DeclaredIn(*it->second);
}

absl::StatusOr<std::vector<TensorType>> ModelImporter::TypesOfOutputs(
    const onnx::NodeProto& node, const Scope& scope, const OpaqueNode& opaque,
    const std::vector<Value>& inputs) {
  // Sizes that the inputs determine are not left open: they can be fixed.
  const bool has_symbols = std::any_of(inputs.begin(), inputs.end(), [](const Value& input) {
    std::map<std::string, SizeRange> dims;
    for (int64_t size : input.shape()) CollectDims(size, &dims);
    return std::any_of(dims.begin(), dims.end(),
                       [](const auto& dim) { return !IsResultSize(dim.second); });
  });
  const bool may_be_open = !has_symbols || HasOpenResults(node);
  const bool is_if = node.op_type() == "If" && NormalDomain(node.domain()).empty();
  std::optional<std::map<std::string, OpenType>> inferred;
  std::optional<absl::StatusOr<std::vector<TensorType>>> repeated;
  std::optional<std::vector<std::optional<OpenType>>> branches;
  std::vector<TensorType> types;
  for (size_t i = 0; i < opaque.outputs.size(); ++i) {
    const std::string& output = opaque.outputs[i];
    auto type = DeclaredType(scope, output);
    bool differs_by_branch = false;
    std::optional<OpenType> open;
    // An output of the model may be declared as only one branch gives it: ONNX Runtime accepts
    // that. For other values the declaration holds, so that what reads them knows their sizes.
    if (type && is_if && scope.depth == 0 && IsOnlyOutput(*model_, output)) {
      if (!branches) branches = TypesOfBranches(node, scope);
      if (i < branches->size() && (*branches)[i] && (*branches)[i]->Complete() != type) {
        open = (*branches)[i];
        type = open->Complete();
        differs_by_branch = !type;
      }
    }
    if (!type && !open && structural::IsLoopOrScan(node, scope.opset())) {
      if (!repeated) repeated = TypesOfRepeat(node, scope);
      if (repeated->ok() && i < (*repeated)->size()) type = (**repeated)[i];
    }
    if (!type && !open && !inferred) inferred = InferredTypesOf(opaque, inputs);
    if (!type && !open) {
      const auto found = inferred->find(absl::StrCat("o", i));
      if (found != inferred->end()) open = found->second;
      // ONNX's library takes a branch of unknown rank for a scalar.
      if (is_if && open && open->dims.empty()) open.reset();
    }
    if (!type && open) type = open->Complete();
    if (!type && is_if && !differs_by_branch && (has_symbols || !open)) {
      if (!branches) branches = TypesOfBranches(node, scope);
      if (i < branches->size() && (*branches)[i]) {
        open = (*branches)[i];
        type = open->Complete();
        // The inputs' sizes alone do not determine this size.
        differs_by_branch = !type;
      } else {
        differs_by_branch = open.has_value();  // as far as ONNX's inference knows both branches
      }
    }
    if (!type && may_be_open) {
      if (!open) open = DeclaredOpenType(scope, output);
      if (!open && repeated) open = DeclaredByBody(node, scope, output);
      CompleteAroundAxis(node, inputs, static_cast<int>(i), &open);
      CompleteImage(node, &open);
      if (!open && IsReshape(node) && inputs.size() == 2) {
        open = TypeOfReshape(inputs, KnownSizes(inputs[1]));  // its importer has asked for them too
      }
      if (open) type = open->Complete();
    }
    if (!type && open && (may_be_open || differs_by_branch)) {
      LEMMA_ASSIGN_OR_RETURN(
          type, WithResultSizes(*open, output, scope, BoundsOf(node, inputs, static_cast<int>(i))));
    }
    if (!type) {
      return absl::UnimplementedError(
          absl::StrCat("the model declares no element type and shape of its output '", output,
                       "' (value_info), and ONNX infers none"));
    }
    types.push_back(*std::move(type));
  }
  return types;
}

std::vector<std::optional<OpenType>> ModelImporter::TypesOfBranches(const onnx::NodeProto& node,
                                                                    const Scope& scope) {
  std::string text = absl::StrCat(static_cast<int>(use_), " ", node.SerializeAsString());
  for (const auto& [domain, version] : scope.opsets) absl::StrAppend(&text, domain, " ", version);
  std::pair<std::string, std::vector<Value>> key(Sha256Of(text), {});
  for (const std::string& name : NamesRead(node)) {
    const Value* value = scope.Find(name);
    if (value == nullptr || !*value) return ImportTypesOfBranches(node, scope);
    key.second.push_back(*value);
  }
  const auto known = branch_types_.find(key);
  if (known != branch_types_.end()) return known->second;
  auto types = ImportTypesOfBranches(node, scope);
  branch_types_[std::move(key)] = types;
  return types;
}

std::vector<std::optional<OpenType>> ModelImporter::ImportTypesOfBranches(
    const onnx::NodeProto& node, const Scope& scope) {
  const size_t opaque = result_.opaque.size(), asked = asked_sizes_.size();
  const size_t notes = result_.notes.size();
  const auto result_sizes = result_sizes_;
  const auto draws = draws_;
  const auto makers = makers_;
  std::vector<Result> results[2];
  bool are_known = true;
  for (const bool holds : {false, true}) {
    const auto* branch = structural::FindAttribute(node, BranchAttribute(holds));
    if (branch == nullptr || node.input_size() != 1) return {};
    const Value* condition = scope.Find(node.input(0));
    if (condition == nullptr) return {};
    auto imported = TryBranch(branch->g(), scope, {*condition, holds});
    are_known = are_known && imported.ok();
    if (imported.ok()) results[holds] = *std::move(imported);
  }
  result_.opaque.resize(opaque);
  ForgetAsked(asked);
  result_.notes.resize(notes);
  result_sizes_ = result_sizes;
  draws_ = draws;
  makers_ = makers;
  if (!are_known) return {};
  std::vector<std::optional<OpenType>> types;
  for (int i = 0; i < node.output_size(); ++i) {
    const size_t at = static_cast<size_t>(i);
    if (node.output(i).empty()) continue;
    if (at >= results[0].size() || at >= results[1].size()) return {};
    const Value &a = results[0][at].value, &b = results[1][at].value;
    const bool have_one_rank =
        a && b && a.dtype() == b.dtype() && a.type().rank() == b.type().rank();
    types.push_back(have_one_rank ? std::optional<OpenType>(Merged(a.type(), b.type()))
                                  : std::nullopt);
  }
  return types;
}

absl::StatusOr<std::vector<TensorType>> ModelImporter::TypesOfRepeat(const onnx::NodeProto& node,
                                                                     const Scope& scope) {
  LEMMA_ASSIGN_OR_RETURN(const onnx::GraphProto* body, structural::BodyOf(node));
  LEMMA_ASSIGN_OR_RETURN(const structural::LoopSignature signature,
                         structural::LoopSignatureOf(node));
  std::vector<TensorType> given;
  if (signature.is_loop) given = {{DType::kI64, {}}, {DType::kBool, {}}};
  int64_t length = 0;
  for (int i = signature.parameters(); i < node.input_size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(const Value value, structural::TensorInput(node, scope, i));
    TensorType type = value.type();
    const int scanned = i - signature.parameters() - signature.states;
    if (scanned >= 0) {
      LEMMA_ASSIGN_OR_RETURN(
          const int64_t axis,
          structural::AxisIn(signature.scanned[static_cast<size_t>(scanned)].axis, type.rank()));
      length = type.shape[static_cast<size_t>(axis)];
      type.shape.erase(type.shape.begin() + axis);
    }
    given.push_back(std::move(type));
  }
  // Values that nothing is known of stand for the body's inputs.
  Scope inner = structural::Inside(scope);
  for (size_t i = 0; i < given.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(
        std::vector<Value> value,
        ApplyOpaque({}, {{"op_type", std::string("operand")}, {"payload", absl::StrCat(i)}},
                    {given[i]}));
    inner.values[body->input(static_cast<int>(i)).name()] = value[0];
  }
  const size_t opaque = result_.opaque.size();
  const auto draws = draws_;
  const auto makers = makers_;
  auto results = ImportSubgraph(*body, &inner);
  result_.opaque.resize(opaque);
  draws_ = draws;
  makers_ = makers;
  if (!results.ok()) return results.status();

  std::vector<OpenType> found;
  bool same_sizes = true;
  for (size_t i = signature.is_loop ? 1 : 0; i < results->size(); ++i) {
    const Value& value = (*results)[i].value;
    if (!value) return absl::UnimplementedError("the body gives a list");
    const size_t number = i - (signature.is_loop ? 1 : 0);
    if (number < static_cast<size_t>(signature.states)) {
      const TensorType& before = given[static_cast<size_t>(signature.parameters()) + number];
      if (before.dtype != value.dtype() || before.rank() != value.type().rank()) {
        return absl::UnimplementedError("a state's type changes");
      }
      found.push_back(Merged(before, value.type()));
      same_sizes = same_sizes && found.back().Complete();
      continue;
    }
    OpenType type = ToOpen(value.type());
    if (!same_sizes) std::fill(type.dims.begin(), type.dims.end(), std::nullopt);
    LEMMA_ASSIGN_OR_RETURN(
        const int64_t axis,
        structural::AxisIn(signature.outputs[number - static_cast<size_t>(signature.states)].axis,
                           value.type().rank() + 1));
    type.dims.insert(type.dims.begin() + axis,
                     signature.is_loop ? std::nullopt : std::optional<int64_t>(length));
    found.push_back(std::move(type));
  }
  std::vector<TensorType> types;
  for (int i = 0; i < node.output_size() && i < static_cast<int>(found.size()); ++i) {
    if (node.output(i).empty()) continue;
    LEMMA_ASSIGN_OR_RETURN(
        TensorType type, WithResultSizes(found[static_cast<size_t>(i)], node.output(i), scope, {}));
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace lemma
