#include "graph/onnx/run_time/call.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/opaque.h"
#include "graph/onnx/run_time/choosing_if.h"
#include "graph/onnx/run_time/loop_signature.h"
#include "graph/onnx/structural.h"

namespace lemma {
namespace {

using Tensors = std::vector<Tensor>;

absl::Status Prefixed(absl::string_view what, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(what, ": ", status.message()));
}

// A graph of ONNX's that is imported for the types of its inputs.
class ImportedGraph {
 public:
  // `model`: its inputs have names; their types are replaced. `packed`: if the model is one kept
  // node, this node as the payload has it.
  ImportedGraph(onnx::ModelProto model, GraphCompiler compile, std::string packed = "")
      : model_(std::move(model)), compile_(std::move(compile)), packed_(std::move(packed)) {}

  absl::StatusOr<Tensors> Run(const Tensors& inputs) {
    LEMMA_ASSIGN_OR_RETURN(const Version* version, VersionFor(inputs));
    return version->run(inputs);
  }

  // The types of the results of Run.
  absl::StatusOr<std::vector<TensorType>> TypesFor(const Tensors& inputs) {
    LEMMA_ASSIGN_OR_RETURN(const Version* version, VersionFor(inputs));
    return version->outputs;
  }

 private:
  static constexpr size_t kMaxVersions = 16;

  struct Version {
    std::vector<TensorType> types;
    std::vector<std::pair<size_t, Tensor>> values;  // of inputs, on which the import depends
    std::vector<TensorType> outputs;
    GraphFunction run;

    bool IsFor(const Tensors& inputs) const {
      for (size_t i = 0; i < types.size(); ++i) {
        if (types[i] != inputs[i].type()) return false;
      }
      return std::all_of(values.begin(), values.end(), [&](const auto& value) {
        return inputs[value.first].SameBytes(value.second);
      });
    }
  };

  absl::StatusOr<const Version*> VersionFor(const Tensors& inputs) {
    auto known = std::find_if(versions_.begin(), versions_.end(),
                              [&](const Version& version) { return version.IsFor(inputs); });
    if (known != versions_.end()) {
      versions_.splice(versions_.begin(), versions_, known);
      return &versions_.front();
    }
    LEMMA_ASSIGN_OR_RETURN(Version version, Import(inputs));
    versions_.push_front(std::move(version));
    if (versions_.size() > kMaxVersions) versions_.pop_back();
    return &versions_.front();
  }

  absl::StatusOr<Version> Import(const Tensors& inputs) {
    onnx::ModelProto model = model_;
    ImportOptions options;
    options.computes_result_sizes = true;
    Version version;
    for (size_t i = 0; i < inputs.size(); ++i) {
      onnx::ValueInfoProto* input = model.mutable_graph()->mutable_input(static_cast<int>(i));
      auto* type = input->mutable_type()->mutable_tensor_type();
      type->set_elem_type(ToOnnxType(inputs[i].dtype()));
      type->clear_shape();
      type->mutable_shape();
      for (int64_t size : inputs[i].shape()) {
        type->mutable_shape()->add_dim()->set_dim_value(size);
      }
      options.input_values[input->name()] = inputs[i];
      version.types.push_back(inputs[i].type());
    }
    LEMMA_ASSIGN_OR_RETURN(ImportedModel imported, ModelImporter(&model, options, "").Run());
    LEMMA_RETURN_IF_ERROR(CheckProgress(imported));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (imported.fixed_inputs.count(imported.graph.input_names()[i]) == 0) continue;
      version.values.emplace_back(i, inputs[i]);
    }
    for (const Value& output : imported.graph.outputs()) version.outputs.push_back(output.type());
    LEMMA_ASSIGN_OR_RETURN(version.run, compile_(imported.graph));
    return version;
  }

  // An error if the import keeps the very node that it should take apart.
  absl::Status CheckProgress(const ImportedModel& imported) const {
    if (packed_.empty()) return absl::OkStatus();
    const onnx::NodeProto& node = model_.graph().node(0);
    const std::string domain = NormalDomain(node.domain());
    for (const NodePtr& made : imported.graph.nodes()) {
      if (!made->IsOp("opaque") || made->String("domain") != domain ||
          made->String("op_type") != node.op_type() ||
          made->inputs().size() != static_cast<size_t>(model_.graph().input_size())) {
        continue;
      }
      onnx::ModelProto kept;
      if (!kept.ParseFromString(made->String("payload")) || kept.graph().node_size() != 1) continue;
      if (kept.graph().node(0).SerializeAsString() != packed_) continue;
      return absl::UnimplementedError(
          imported.opaque.empty() ? "its results cannot be computed here" : imported.opaque[0]);
    }
    return absl::OkStatus();
  }

  const onnx::ModelProto model_;
  const GraphCompiler compile_;
  const std::string packed_;
  std::list<Version> versions_;  // the one used last comes first
};

// The subgraph as a graph of its own; captured values follow its inputs.
onnx::ModelProto WithSubgraph(const onnx::ModelProto& payload, const onnx::GraphProto& subgraph,
                              const std::vector<std::string>& captured) {
  onnx::ModelProto model = payload;
  *model.mutable_graph() = subgraph;
  for (const std::string& name : captured) model.mutable_graph()->add_input()->set_name(name);
  return model;
}

class PlainCall : public OpaqueCall {
 public:
  explicit PlainCall(ImportedGraph graph) : graph_(std::move(graph)) {}

  absl::StatusOr<Tensors> Run(absl::Span<const Tensor> inputs) override {
    return graph_.Run({inputs.begin(), inputs.end()});
  }

 private:
  ImportedGraph graph_;
};

// An If that only chooses: operand 0 is the condition.
class ChoosingCall : public OpaqueCall {
 public:
  // The operands that are the result if the condition does not hold, and if it does.
  ChoosingCall(size_t otherwise, size_t then) : sides_{otherwise, then} {}

  absl::StatusOr<Tensors> Run(absl::Span<const Tensor> inputs) override {
    if (inputs[0].size() != 1) {
      return absl::InvalidArgumentError("If: the condition must have one element");
    }
    return Tensors{inputs[sides_[inputs[0].AtInt(0) != 0 ? 1 : 0]]};
  }

 private:
  const size_t sides_[2];
};

// The elements along the dimensions from `first` to before `last`.
int64_t Count(const Shape& shape, int64_t first, int64_t last) {
  return NumElements(Shape(shape.begin() + first, shape.begin() + last));
}

// Tensors of equal types, one per iteration.
class Stacker {
 public:
  absl::Status Add(const Tensor& tensor) {
    if (!items_.empty() && items_[0].type() != tensor.type()) {
      return absl::InvalidArgumentError(absl::StrCat("an iteration gives ",
                                                     tensor.type().ToString(), " after ",
                                                     items_[0].type().ToString(), " of others"));
    }
    items_.push_back(tensor);
    return absl::OkStatus();
  }

  // The items along a new dimension `axis`; `none`: the type of an item if there are none.
  absl::StatusOr<Tensor> Stacked(const std::optional<TensorType>& none,
                                 const structural::LoopSignature::Elements& elements) const {
    TensorType type = items_.empty() ? *none : items_[0].type();
    const int64_t rank = type.rank() + 1, count = static_cast<int64_t>(items_.size());
    LEMMA_ASSIGN_OR_RETURN(const int64_t axis, structural::AxisIn(elements.axis, rank));
    const int64_t width = SizeOf(type.dtype);
    const int64_t outer = Count(type.shape, 0, axis);
    const int64_t inner = Count(type.shape, axis, type.rank()) * width;
    type.shape.insert(type.shape.begin() + axis, count);
    LEMMA_ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(type));
    char* to = static_cast<char*>(result.mutable_raw());
    for (int64_t row = 0; row < outer; ++row) {
      for (int64_t i = 0; i < count; ++i, to += inner) {
        const Tensor& item = items_[static_cast<size_t>(elements.backwards ? count - 1 - i : i)];
        if (inner > 0) std::memcpy(to, static_cast<const char*>(item.raw()) + row * inner, inner);
      }
    }
    return result;
  }

 private:
  Tensors items_;
};

// Element `at` along `axis`.
absl::StatusOr<Tensor> ElementAt(const Tensor& tensor, int64_t axis, int64_t at) {
  TensorType type = tensor.type();
  const int64_t count = type.shape[static_cast<size_t>(axis)], width = SizeOf(type.dtype);
  const int64_t outer = Count(type.shape, 0, axis);
  const int64_t inner = Count(type.shape, axis + 1, type.rank()) * width;
  type.shape.erase(type.shape.begin() + axis);
  LEMMA_ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(type));
  for (int64_t row = 0; row < outer && inner > 0; ++row) {
    std::memcpy(static_cast<char*>(result.mutable_raw()) + row * inner,
                static_cast<const char*>(tensor.raw()) + (row * count + at) * inner, inner);
  }
  return result;
}

// Repeats a body. The operands are those of the node, then captured values.
class RepeatedCall : public OpaqueCall {
 public:
  RepeatedCall(const onnx::NodeProto& node, ImportedGraph body, structural::LoopSignature signature)
      : node_(node), body_(std::move(body)), signature_(std::move(signature)) {}

  absl::StatusOr<Tensors> Run(absl::Span<const Tensor> inputs) override {
    LEMMA_RETURN_IF_ERROR(Begin(inputs));
    int64_t done = 0;
    for (; go_ && done < most_; ++done) {
      LEMMA_ASSIGN_OR_RETURN(Tensors given, Given(done));
      LEMMA_ASSIGN_OR_RETURN(Tensors results, body_.Run(given));
      LEMMA_RETURN_IF_ERROR(End(std::move(results)));
    }
    std::vector<TensorType> types;
    if (done == 0 && !stackers_.empty()) {
      LEMMA_ASSIGN_OR_RETURN(types, TypesOfNoIteration());
    }
    Tensors results = std::move(carried_);
    for (size_t i = 0; i < stackers_.size(); ++i) {
      std::optional<TensorType> none;
      if (done == 0) none = types[types.size() - stackers_.size() + i];
      LEMMA_ASSIGN_OR_RETURN(Tensor stacked, stackers_[i].Stacked(none, signature_.outputs[i]));
      results.push_back(std::move(stacked));
    }
    return Present(std::move(results));
  }

 private:
  // Reads the operands.
  absl::Status Begin(absl::Span<const Tensor> inputs) {
    auto next = inputs.begin();
    carried_.clear();
    scanned_.clear();
    captured_.clear();
    most_ = INT64_MAX;
    go_ = true;
    for (int i = 0; i < node_.input_size(); ++i) {
      if (node_.input(i).empty()) continue;
      const Tensor& tensor = *next++;
      if (i < signature_.parameters()) {
        if (tensor.size() != 1) return absl::InvalidArgumentError("M and cond must be scalars");
        if (i == 0) most_ = tensor.AtInt(0);
        if (i == 1) go_ = tensor.AtInt(0) != 0;
      } else if (i < signature_.parameters() + signature_.states) {
        carried_.push_back(tensor);
      } else {
        scanned_.push_back(tensor);
      }
    }
    captured_.assign(next, inputs.end());
    stackers_.assign(signature_.outputs.size(), Stacker());
    for (size_t i = 0; i < scanned_.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(const int64_t axis, ScannedAxis(i));
      const int64_t length = scanned_[i].shape()[static_cast<size_t>(axis)];
      if (i > 0 && length != most_) {
        return absl::InvalidArgumentError("the scanned inputs differ in length");
      }
      most_ = length;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> ScannedAxis(size_t i) const {
    return structural::AxisIn(signature_.scanned[i].axis, scanned_[i].type().rank());
  }

  // The body's operands in iteration `at`.
  absl::StatusOr<Tensors> Given(int64_t at) const {
    Tensors given;
    if (signature_.parameters() > 0) {
      LEMMA_ASSIGN_OR_RETURN(Tensor number, Tensor::FromInts({DType::kI64, {}}, {at}));
      LEMMA_ASSIGN_OR_RETURN(Tensor holds, Tensor::FromInts({DType::kBool, {}}, {1}));
      given = {std::move(number), std::move(holds)};
    }
    given.insert(given.end(), carried_.begin(), carried_.end());
    for (size_t i = 0; i < scanned_.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(const int64_t axis, ScannedAxis(i));
      const int64_t place = signature_.scanned[i].backwards ? most_ - 1 - at : at;
      LEMMA_ASSIGN_OR_RETURN(Tensor element, ElementAt(scanned_[i], axis, place));
      given.push_back(std::move(element));
    }
    given.insert(given.end(), captured_.begin(), captured_.end());
    return given;
  }

  // Takes the body's results.
  absl::Status End(Tensors results) {
    auto next = results.begin();
    if (signature_.parameters() > 0) {
      if (next->size() != 1) return absl::InvalidArgumentError("the condition is no scalar");
      go_ = (next++)->AtInt(0) != 0;
    }
    for (Tensor& carried : carried_) carried = std::move(*next++);
    for (Stacker& stacker : stackers_) LEMMA_RETURN_IF_ERROR(stacker.Add(*next++));
    return absl::OkStatus();
  }

  // The types of the body's results. Nothing is executed; an element of what is scanned stands for
  // those that are not there.
  absl::StatusOr<std::vector<TensorType>> TypesOfNoIteration() {
    Tensors elements;
    for (size_t i = 0; i < scanned_.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(const int64_t axis, ScannedAxis(i));
      TensorType type = scanned_[i].type();
      type.shape[static_cast<size_t>(axis)] = 1;
      LEMMA_ASSIGN_OR_RETURN(Tensor one, Tensor::Filled(type, 0));
      scanned_[i] = std::move(one);
    }
    if (!scanned_.empty()) most_ = 1;
    LEMMA_ASSIGN_OR_RETURN(Tensors given, Given(0));
    return body_.TypesFor(given);
  }

  // Those results that the node gives.
  absl::StatusOr<Tensors> Present(Tensors results) const {
    Tensors present;
    for (int i = 0; i < node_.output_size(); ++i) {
      if (node_.output(i).empty()) continue;
      if (i >= static_cast<int>(results.size())) {
        return absl::InvalidArgumentError(absl::StrCat("there is no output ", i));
      }
      present.push_back(std::move(results[static_cast<size_t>(i)]));
    }
    return present;
  }

  const onnx::NodeProto node_;
  ImportedGraph body_;
  const structural::LoopSignature signature_;
  Tensors carried_, scanned_, captured_;
  std::vector<Stacker> stackers_;
  int64_t most_ = 0;
  bool go_ = true;
};

// Adds the operator to what its results' errors say, and checks the results' number.
class NamedCall : public OpaqueCall {
 public:
  NamedCall(std::string op_type, size_t outputs, std::unique_ptr<OpaqueCall> call)
      : op_type_(std::move(op_type)), outputs_(outputs), call_(std::move(call)) {}

  absl::StatusOr<Tensors> Run(absl::Span<const Tensor> inputs) override {
    auto results = call_->Run(inputs);
    if (!results.ok()) return Prefixed(op_type_, results.status());
    if (results->size() == outputs_) return results;
    return absl::InternalError(absl::StrCat(op_type_, ": ", results->size(), " results"));
  }

 private:
  const std::string op_type_;
  const size_t outputs_;
  const std::unique_ptr<OpaqueCall> call_;
};

// Whether Lemma knows the node's operator and those in its subgraphs and functions. Of a branch
// that is never taken nothing needs to be known.
bool IsKnown(const onnx::NodeProto& node, int opset, const FunctionMap& functions, int depth) {
  constexpr int kMaxDepth = 32;
  if (depth > kMaxDepth) return false;
  auto all_known = [&](const auto& nodes) {
    return std::all_of(nodes.begin(), nodes.end(), [&](const onnx::NodeProto& inner) {
      return IsKnown(inner, opset, functions, depth + 1);
    });
  };
  auto function = functions.find(absl::StrCat(NormalDomain(node.domain()), ":", node.op_type()));
  if (function != functions.end()) return all_known(function->second->node());
  if (!HasImporter(node, opset)) return false;
  int graphs = 0, known = 0;
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    ++graphs;
    if (all_known(attribute.g().node())) ++known;
  }
  return node.op_type() == "If" ? known > 0 : known == graphs;
}

// The names of the operands: the node's, then those that its subgraphs capture.
std::vector<std::string> OperandNames(const onnx::NodeProto& node, size_t count, size_t* of_node) {
  std::vector<std::string> names;
  for (const std::string& name : node.input()) {
    if (!name.empty()) names.push_back(name);
  }
  *of_node = names.size();
  for (size_t i = names.size(); i < count; ++i) names.push_back(absl::StrCat("c", i));
  return names;
}

// Puts the model's names in the place of those that the payload has for the node's operands and
// results. A name that another value has already is left out.
void UseNames(const CallNames& names, onnx::NodeProto* node) {
  std::set<std::string> taken(node->input().begin(), node->input().end());
  taken.insert(node->output().begin(), node->output().end());
  VisitSubnodes(*node, [&](const onnx::NodeProto& inner) {
    taken.insert(inner.input().begin(), inner.input().end());
    taken.insert(inner.output().begin(), inner.output().end());
  });
  const auto use = [&](const std::vector<std::string>& given, auto* own) {
    size_t next = 0;
    for (std::string& name : *own) {
      if (name.empty() || next == given.size()) continue;
      const std::string& better = given[next++];
      if (!better.empty() && taken.insert(better).second) name = better;
    }
  };
  use(names.inputs, node->mutable_input());
  use(names.outputs, node->mutable_output());
}

}  // namespace

absl::StatusOr<std::unique_ptr<OpaqueCall>> MakeCall(const Node& opaque, GraphCompiler compile,
                                                     const CallNames& given) {
  onnx::ModelProto payload;
  if (!payload.ParseFromString(opaque.String("payload")) || payload.graph().node_size() != 1) {
    return absl::UnimplementedError(absl::StrCat("unsupported: ", opaque.String("op_type"),
                                                 " (nothing says what it computes)"));
  }
  for (const auto& types : {opaque.input_types(), opaque.types()}) {
    for (const TensorType& type : types) {
      if (!IsOpaque(type.dtype)) continue;
      return absl::UnimplementedError(
          absl::StrCat("unsupported: values of element type ", Name(type.dtype)));
    }
  }
  std::string packed = payload.graph().node(0).SerializeAsString();
  UseNames(given, payload.mutable_graph()->mutable_node(0));
  const onnx::NodeProto node = payload.graph().node(0);
  const std::string domain = NormalDomain(node.domain());
  const std::string name =
      domain.empty() ? node.op_type() : absl::StrCat(domain, ".", node.op_type());
  FunctionMap functions;
  for (const auto& function : payload.functions()) {
    functions.emplace(absl::StrCat(NormalDomain(function.domain()), ":", function.name()),
                      &function);
  }
  const int opset = OpsetOfOpaque(opaque.String("payload"));
  if (!IsKnown(node, opset, functions, 0) || MayDraw(node, functions)) {
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", name, " (its results cannot be computed here)"));
  }
  if (opaque.inputs().size() == 3 && opaque.num_outputs() == 1) {
    const std::vector<std::optional<bool>> read = ReadOnlyIf(opaque);
    if (!read.empty() && read[1] && read[2] && *read[1] != *read[2]) {
      return std::make_unique<ChoosingCall>(*read[1] ? 2 : 1, *read[1] ? 1 : 2);
    }
  }
  size_t of_node = 0;
  const std::vector<std::string> names = OperandNames(node, opaque.inputs().size(), &of_node);
  std::unique_ptr<OpaqueCall> call;
  if (structural::IsLoopOrScan(node, opset)) {
    LEMMA_ASSIGN_OR_RETURN(structural::LoopSignature signature, structural::LoopSignatureOf(node));
    LEMMA_ASSIGN_OR_RETURN(const onnx::GraphProto* subgraph, structural::BodyOf(node));
    onnx::ModelProto body = WithSubgraph(
        payload, *subgraph, {names.begin() + static_cast<std::ptrdiff_t>(of_node), names.end()});
    call = std::make_unique<RepeatedCall>(node, ImportedGraph(std::move(body), std::move(compile)),
                                          std::move(signature));
  } else {
    for (const std::string& input : names) payload.mutable_graph()->add_input()->set_name(input);
    for (const std::string& output : node.output()) {
      if (!output.empty()) payload.mutable_graph()->add_output()->set_name(output);
    }
    call = std::make_unique<PlainCall>(
        ImportedGraph(std::move(payload), std::move(compile), std::move(packed)));
  }
  return std::make_unique<NamedCall>(name, opaque.types().size(), std::move(call));
}

std::vector<std::optional<bool>> ReadOnlyIf(const Node& node) {
  onnx::ModelProto model;
  if (node.String("op_type") != "If" || !model.ParseFromString(node.String("payload")) ||
      model.graph().node_size() != 1 || !IsChoosingIf(model.graph().node(0))) {
    return {};
  }
  const onnx::NodeProto& choice = model.graph().node(0);
  std::vector<std::optional<bool>> result;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const std::string name = absl::StrCat("c", i);  // opaque.h
    bool read[2] = {false, false};
    for (const bool holds : {false, true}) {
      for (const onnx::NodeProto& inner :
           structural::FindGraph(choice, BranchAttribute(holds))->node()) {
        read[holds] = read[holds] || inner.input(0) == name;
      }
    }
    result.push_back(i == 0 || read[0] == read[1] ? std::nullopt : std::optional<bool>(read[1]));
  }
  return result;
}

}  // namespace lemma
