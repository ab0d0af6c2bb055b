#include "graph/onnx/run_time/loop_body.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/opaque.h"
#include "graph/onnx/run_time/loop_signature.h"
#include "graph/onnx/structural.h"
#include "graph/sizes/specialize.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

using structural::LoopSignature;

// Captured weights and constants are copied into messages, which hold 2 GB at most.
constexpr int64_t kMaxCapturedBytes = 1'000'000'000;

std::string NameOfValue(int index) { return absl::StrCat("v", index); }
// A captured value may be among the values twice, for example two equal constants; a file has one
// name for it. The index of its first occurrence behind the node's own operands.
int FirstOf(int index, int own_operands, absl::Span<const Value> values) {
  const auto begin = values.begin() + own_operands;
  return static_cast<int>(std::find(begin, values.end(), values[static_cast<size_t>(index)]) -
                          values.begin());
}
std::string NameOfBodyInput(int number) { return absl::StrCat("b", number); }

// The node in a payload, and what surrounds it.
struct Unpacked {
  onnx::ModelProto payload;
  onnx::NodeProto node;
  int opset = 0;
  FunctionMap functions;  // refers to `payload`
  LoopSignature signature;
  int own_operands = 0;  // present ones, which come before the captured values
};

// An error unless each name in the graph and its subgraphs is defined once in its scope and those
// around it, as a local ("l3", opaque.h). Otherwise a reader might take one value for another.
absl::Status CheckNames(const onnx::GraphProto& graph, std::set<std::string> defined) {
  absl::Status status;
  const auto define = [&](const std::string& name) {
    const bool is_new = name.empty() || (name[0] == 'l' && defined.insert(name).second);
    if (!is_new) status = absl::InvalidArgumentError(absl::StrCat(name, " is defined twice"));
  };
  for (const auto& input : graph.input()) define(input.name());
  for (const auto& tensor : graph.initializer()) define(tensor.name());
  for (const auto& node : graph.node()) {
    for (const std::string& output : node.output()) define(output);
  }
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) status.Update(CheckNames(attribute.g(), defined));
    }
  }
  return status;
}

// An error unless the payload is what an import makes of its node.
absl::Status CheckPacked(const std::string& payload, const Unpacked& loop) {
  std::map<std::string, int> opsets;
  for (const auto& entry : loop.payload.opset_import()) {
    opsets[NormalDomain(entry.domain())] = static_cast<int>(entry.version());
  }
  const OpaqueNode packed = PackOpaque(loop.node, opsets, loop.functions, loop.node.doc_string());
  if (packed.payload != payload) {
    return absl::InvalidArgumentError("the payload of a loop is not as an import writes it");
  }
  LEMMA_ASSIGN_OR_RETURN(const onnx::GraphProto* body, structural::BodyOf(loop.node));
  return CheckNames(*body, {});
}

// Whether a declared type may be that of a scalar.
bool MayBeScalar(const onnx::TypeProto& type) {
  return !type.has_tensor_type() || !type.tensor_type().has_shape() ||
         type.tensor_type().shape().dim_size() == 0;
}

absl::Status Unpack(const LoopNode& loop, size_t values, Unpacked* result) {
  if (!result->payload.ParseFromString(loop.payload) || result->payload.graph().node_size() != 1) {
    return absl::InvalidArgumentError("the payload of an opaque operator is damaged");
  }
  result->node = result->payload.graph().node(0);
  result->opset = OpsetOfOpaque(loop.payload);
  if (!structural::IsLoopOrScan(result->node, result->opset)) {
    return absl::InvalidArgumentError("the operator is no loop");
  }
  for (const auto& function : result->payload.functions()) {
    result->functions.emplace(absl::StrCat(NormalDomain(function.domain()), ":", function.name()),
                              &function);
  }
  LEMMA_ASSIGN_OR_RETURN(result->signature, structural::LoopSignatureOf(result->node));
  LEMMA_RETURN_IF_ERROR(CheckPacked(loop.payload, *result));
  for (const std::string& name : result->node.input()) result->own_operands += name.empty() ? 0 : 1;
  std::set<int> known;
  for (size_t k = 0; k < loop.reads.size(); ++k) {
    const int read = loop.reads[k];
    const bool is_own = k < static_cast<size_t>(result->own_operands);
    if (read < 0 || static_cast<size_t>(read) >= values || !known.insert(read).second ||
        is_own != (read < result->own_operands) || (is_own && static_cast<size_t>(read) != k)) {
      return absl::InvalidArgumentError("a loop reads other values than those around it");
    }
  }
  if (loop.reads.size() < static_cast<size_t>(result->own_operands)) {
    return absl::InvalidArgumentError("a loop has too few operands");
  }
  if (MayDraw(result->node, result->functions)) {
    return absl::UnimplementedError("the body may draw random numbers");
  }
  return absl::OkStatus();
}

onnx::GraphProto* MutableBody(onnx::NodeProto* node) {
  for (auto& attribute : *node->mutable_attribute()) {
    if (attribute.name() == "body") return attribute.mutable_g();
  }
  return nullptr;
}

// The types of the body's inputs in each iteration.
absl::StatusOr<std::vector<TensorType>> InputTypes(const Unpacked& loop,
                                                   absl::Span<const Value> values) {
  const LoopSignature& signature = loop.signature;
  std::vector<TensorType> types;
  if (signature.is_loop) {
    types = {{DType::kI64, {}}, {DType::kBool, {}}};
    LEMMA_ASSIGN_OR_RETURN(const onnx::GraphProto* body, structural::BodyOf(loop.node));
    // The condition follows the operands' order: it is operand 0 if there is no limit.
    const size_t condition = loop.node.input(0).empty() ? 0 : 1;
    const bool is_scalar = loop.node.input(1).empty() || values[condition].type().rank() == 0;
    if (!is_scalar || !MayBeScalar(body->input(0).type()) || !MayBeScalar(body->input(1).type()) ||
        !MayBeScalar(body->output(0).type())) {
      return absl::UnimplementedError("the iteration's number or the condition is no scalar");
    }
  }
  size_t next = 0;
  for (int i = 0; i < loop.node.input_size(); ++i) {
    const bool is_present = !loop.node.input(i).empty();
    const size_t at = next;
    next += is_present ? 1 : 0;
    if (i < signature.parameters()) continue;
    if (!is_present) return absl::UnimplementedError("a state has no initial value");
    TensorType type = values[at].type();
    const int scanned = i - signature.parameters() - signature.states;
    if (scanned >= 0) {
      LEMMA_ASSIGN_OR_RETURN(
          const int64_t axis,
          structural::AxisIn(signature.scanned[static_cast<size_t>(scanned)].axis, type.rank()));
      type.shape.erase(type.shape.begin() + axis);
    }
    types.push_back(std::move(type));
  }
  return types;
}

// Declares an input of the model. Collects the ranges of symbolic dimensions.
absl::Status Declare(const std::string& name, const TensorType& type, onnx::ValueInfoProto* input,
                     std::map<std::string, SizeRange>* ranges) {
  if (IsOpaque(type.dtype)) {
    return absl::UnimplementedError(
        absl::StrCat("the body reads values of element type ", Name(type.dtype)));
  }
  input->set_name(name);
  auto* tensor = input->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(ToOnnxType(type.dtype));
  tensor->mutable_shape();
  for (int64_t size : type.shape) {
    auto* dim = tensor->mutable_shape()->add_dim();
    if (!IsSymbolic(size)) {
      dim->set_dim_value(size);
      continue;
    }
    std::map<std::string, SizeRange> dims;
    CollectDims(size, &dims);
    if (dims.size() != 1 || dims.begin()->first != SizeName(size)) {
      return absl::UnimplementedError(
          absl::StrCat("the body reads values with a size of ", SizeName(size)));
    }
    if (IsResultSize(dims.begin()->second)) {
      return absl::UnimplementedError(
          absl::StrCat("size ", SizeName(size), " is known only at run time"));
    }
    dim->set_dim_param(dims.begin()->first);
    ranges->insert(*dims.begin());
  }
  return absl::OkStatus();
}

// A captured weight or constant as an initializer that the import takes for the same.
absl::Status AddKnown(const std::string& name, const Node& node, onnx::GraphProto* graph) {
  if (IsOpaque(node.type(0).dtype)) {
    return absl::UnimplementedError(
        absl::StrCat("the body reads values of element type ", Name(node.type(0).dtype)));
  }
  onnx::TensorProto* tensor = graph->add_initializer();
  *tensor = ToProto(name, node.payload());
  tensor->set_doc_string(node.kind() == Node::Kind::kWeight ? kWeightMark : kConstantMark);
  return absl::OkStatus();
}

// An error unless each state has the same type before and after an iteration.
absl::Status CheckStates(const LoopSignature& signature, const std::vector<TensorType>& before,
                         const Graph& body) {
  const size_t first = static_cast<size_t>(signature.parameters());
  const size_t results = signature.is_loop ? 1 : 0;
  const size_t states = static_cast<size_t>(signature.states);
  if (body.outputs().size() < results + states) {
    return absl::InvalidArgumentError("the body's inputs or outputs do not fit");
  }
  if (signature.is_loop) {
    const TensorType& condition = body.outputs()[0].type();
    if (condition.dtype != DType::kBool || condition.rank() != 0) {
      return absl::UnimplementedError("the condition is no scalar");
    }
  }
  for (size_t i = 0; i < states; ++i) {
    if (body.outputs()[results + i].type() == before[first + i]) continue;
    return absl::UnimplementedError("a state's type changes");
  }
  return absl::OkStatus();
}

// The node without its body, and its operator set. The types that a Loop's body declares belong to
// it, because they decide the shape of what no iteration computes.
std::string FrameOf(const Unpacked& loop) {
  onnx::NodeProto frame = loop.node;
  onnx::GraphProto* body = MutableBody(&frame);
  onnx::GraphProto declared;
  if (loop.signature.is_loop) {
    for (const auto& input : body->input()) {
      *declared.add_input()->mutable_type() = input.type();
    }
    for (const auto& output : body->output()) {
      *declared.add_output()->mutable_type() = output.type();
    }
  }
  *body = std::move(declared);
  return absl::StrCat(loop.opset, " ", frame.SerializeAsString());
}

// An error if a body declares another type than it has.
absl::Status CheckDeclared(const onnx::ValueInfoProto& declared, const TensorType& type) {
  if (!declared.type().has_tensor_type()) return absl::OkStatus();
  const auto& tensor = declared.type().tensor_type();
  bool fits = tensor.elem_type() == 0 || tensor.elem_type() == ToOnnxType(type.dtype);
  if (tensor.has_shape()) {
    fits = fits && tensor.shape().dim_size() == type.rank();
    for (int d = 0; fits && d < type.rank(); ++d) {
      const auto& dim = tensor.shape().dim(d);
      fits = !dim.has_dim_value() || dim.dim_value() == type.shape[static_cast<size_t>(d)];
    }
  }
  if (fits) return absl::OkStatus();
  return absl::UnimplementedError("the body declares other types than it has");
}

ImportOptions ImportOptionsFor(const std::map<std::string, SizeRange>& ranges) {
  ImportOptions options;
  options.symbolic = !ranges.empty();
  options.ranges = ranges;
  return options;
}

}  // namespace

bool IsOpaqueLoop(const Node& node) {
  if (!node.IsOp("opaque") || !NormalDomain(node.String("domain")).empty()) return false;
  const std::string& op_type = node.String("op_type");
  if (op_type != "Loop" && op_type != "Scan") return false;
  onnx::ModelProto payload;
  return payload.ParseFromString(node.String("payload")) && payload.graph().node_size() == 1 &&
         structural::IsLoopOrScan(payload.graph().node(0), OpsetOfOpaque(node.String("payload")));
}

LoopNode LoopNodeOf(const Node& node) {
  LoopNode loop{node.String("payload"), std::vector<int>(node.inputs().size())};
  std::iota(loop.reads.begin(), loop.reads.end(), 0);
  return loop;
}

absl::StatusOr<LoopBody> ImportLoopBody(const LoopNode& node, absl::Span<const Value> values) {
  Unpacked loop;
  LEMMA_RETURN_IF_ERROR(Unpack(node, values.size(), &loop));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<TensorType> types, InputTypes(loop, values));
  LoopBody result;
  result.frame = FrameOf(loop);

  std::map<std::string, std::string> names;
  for (size_t k = static_cast<size_t>(loop.own_operands); k < node.reads.size(); ++k) {
    const int first = FirstOf(node.reads[k], loop.own_operands, values);
    names[absl::StrCat("c", k)] = NameOfValue(first);  // opaque.h
  }
  const onnx::GraphProto* inner = structural::FindGraph(loop.node, "body");
  for (int i = 0; i < inner->input_size(); ++i) names[inner->input(i).name()] = NameOfBodyInput(i);
  RenameInSubgraphs(&loop.node, names);
  onnx::ModelProto model = loop.payload;
  *model.mutable_graph() = std::move(*MutableBody(&loop.node));
  onnx::GraphProto* graph = model.mutable_graph();
  if (graph->input_size() != static_cast<int>(types.size())) {
    return absl::InvalidArgumentError("the body's inputs or outputs do not fit");
  }
  for (size_t i = 0; i < types.size(); ++i) {
    LEMMA_RETURN_IF_ERROR(CheckDeclared(graph->input(static_cast<int>(i)), types[i]));
  }
  const auto outputs = graph->output();
  graph->clear_input();
  std::map<std::string, SizeRange> ranges;
  for (size_t i = 0; i < types.size(); ++i) {
    LEMMA_RETURN_IF_ERROR(
        Declare(NameOfBodyInput(static_cast<int>(i)), types[i], graph->add_input(), &ranges));
  }
  int64_t captured_bytes = 0;
  for (size_t v = static_cast<size_t>(loop.own_operands); v < values.size(); ++v) {
    const auto index = static_cast<int>(v);
    if (FirstOf(index, loop.own_operands, values) != index) continue;
    const std::string name = NameOfValue(index);
    if (!values[v].node().has_payload()) {
      LEMMA_RETURN_IF_ERROR(Declare(name, values[v].type(), graph->add_input(), &ranges));
      continue;
    }
    captured_bytes += values[v].type().num_bytes();
    if (captured_bytes > kMaxCapturedBytes) {
      return absl::UnimplementedError("the body captures more than 1 GB of weights");
    }
    LEMMA_RETURN_IF_ERROR(AddKnown(name, values[v].node(), graph));
  }
  LEMMA_ASSIGN_OR_RETURN(ImportedModel imported,
                         ImportOnnxBytes(model.SerializeAsString(), ImportOptionsFor(ranges)));
  LEMMA_RETURN_IF_ERROR(CheckStates(loop.signature, types, imported.graph));
  for (int i = 0; i < outputs.size() && i < static_cast<int>(imported.graph.outputs().size());
       ++i) {
    LEMMA_RETURN_IF_ERROR(
        CheckDeclared(outputs[i], imported.graph.outputs()[static_cast<size_t>(i)].type()));
  }
  result.graph = std::move(imported.graph);
  result.info = std::move(imported.info);
  return result;
}

absl::StatusOr<Graph> AsWritten(const LoopBody& body, const Graph& graph) {
  ExportOptions options;
  options.info = body.info;
  LEMMA_ASSIGN_OR_RETURN(ImportedModel written,
                         RoundTrip(graph, options, ImportOptionsFor(InputDimsOf(graph))));
  return std::move(written.graph);
}

absl::StatusOr<LoopNode> WithBody(const LoopNode& node, absl::Span<const Value> values,
                                  const LoopBody& body, const Graph& graph) {
  Unpacked loop;
  LEMMA_RETURN_IF_ERROR(Unpack(node, values.size(), &loop));
  ExportOptions options;
  options.info = body.info;
  LEMMA_ASSIGN_OR_RETURN(const std::string bytes, ExportOnnx(graph, options));
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return absl::InternalError("an export cannot be read");
  std::map<std::string, int> opsets;
  for (const auto* imports : {&loop.payload.opset_import(), &model.opset_import()}) {
    for (const auto& entry : *imports) {
      const auto version = static_cast<int>(entry.version());
      const auto known = opsets.emplace(NormalDomain(entry.domain()), version).first;
      if (known->second == version) continue;
      return absl::UnimplementedError(absl::StrCat("the new body needs operator set ", version,
                                                   ", the node is of ", known->second));
    }
  }
  FunctionMap functions;
  for (const auto& function : model.functions()) {
    functions.emplace(absl::StrCat(NormalDomain(function.domain()), ":", function.name()),
                      &function);
  }
  onnx::GraphProto* inner = model.mutable_graph();
  while (inner->input_size() > loop.node.input_size()) inner->mutable_input()->RemoveLast();
  onnx::GraphProto left;
  for (auto& tensor : *inner->mutable_initializer()) {
    absl::string_view name = tensor.name();
    int value = 0;
    const bool is_captured = absl::ConsumePrefix(&name, "v") && absl::SimpleAtoi(name, &value) &&
                             value >= loop.own_operands &&
                             static_cast<size_t>(value) < values.size() &&
                             values[static_cast<size_t>(value)].node().has_payload();
    if (is_captured) {
      const Tensor& before = values[static_cast<size_t>(value)].node().payload();
      LEMMA_ASSIGN_OR_RETURN(const Tensor after, ToTensor(tensor, std::string()));
      if (after.type() == before.type() && after.SameBytes(before)) continue;
      return absl::InternalError(absl::StrCat("two weights are called ", tensor.name()));
    }
    *left.add_initializer() = std::move(tensor);
  }
  inner->mutable_initializer()->Swap(left.mutable_initializer());
  const onnx::GraphProto* old = structural::FindGraph(loop.node, "body");
  inner->set_name(old->name());
  // The types that a Loop's body declares decide the shape of what no iteration computes.
  for (int i = 0; loop.signature.is_loop && i < inner->input_size(); ++i) {
    *inner->mutable_input(i)->mutable_type() = old->input(i).type();
  }
  for (int i = 0; loop.signature.is_loop && i < inner->output_size(); ++i) {
    *inner->mutable_output(i)->mutable_type() = old->output(i).type();
  }
  onnx::NodeProto changed = loop.node;
  *MutableBody(&changed) = std::move(*inner);
  const OpaqueNode packed = PackOpaque(changed, opsets, functions, changed.doc_string());
  LoopNode result{packed.payload, {}};
  for (absl::string_view name : packed.inputs) {
    int value = 0;
    if (!(absl::ConsumePrefix(&name, "i") || absl::ConsumePrefix(&name, "v")) ||
        !absl::SimpleAtoi(name, &value)) {
      return absl::InternalError(absl::StrCat("the new body reads ", name));
    }
    result.reads.push_back(value);
  }
  return result;
}

absl::StatusOr<std::vector<Value>> ApplyLoop(const Node& node, const LoopNode& loop) {
  std::vector<Value> operands;
  for (int read : loop.reads) {
    if (read < 0 || static_cast<size_t>(read) >= node.inputs().size()) {
      return absl::InvalidArgumentError("a loop reads other values than those around it");
    }
    operands.push_back(node.inputs()[static_cast<size_t>(read)]);
  }
  Attrs attrs = node.attrs();
  attrs["payload"] = loop.payload;
  return ApplyOpaque(std::move(operands), std::move(attrs), node.types());
}

}  // namespace lemma
