// Imports nodes, functions and subgraphs.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/blocked/blocked.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx/composites/recurrent/recurrent.h"
#include "graph/onnx/composites/transformer/transformer.h"
#include "graph/onnx/constant_ops.h"
#include "graph/onnx/functions/own_functions.h"
#include "graph/onnx/imported_node.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/infer_types.h"
#include "graph/onnx/opaque.h"
#include "graph/onnx/structural.h"
#include "graph/op_table.h"
#include "graph/sizes/specialize.h"

namespace lemma {
namespace {

constexpr int kMaxNesting = 32;           // of nested functions and subgraphs
constexpr int64_t kMaxNodes = 1'000'000;  // after inlining and unrolling

// The newest operator set that ONNX's own checker, against which the importers are tested, knows.
constexpr int kNewestChecked = 17;

// A float constant in a node with more elements counts as trained values, not as a parameter.
constexpr int64_t kMaxConstantElements = 1024;

// The importer of an operator that a file defines. Its definition is for all sizes.
const OnnxImporter* FindDefinedImporter(const std::string& op_type) {
  for (const OpDef* op : DefinedOps()) {
    for (const OnnxImporter& importer : op->onnx_import) {
      if (importer.op_type == op_type) return &importer;
    }
  }
  return nullptr;
}

const OnnxImporter* FindKnownImporter(const std::string& op_type) {
  static const auto* const composites = new std::vector<std::vector<OnnxImporter>>{
      ops::FourierComposites(),     ops::RecurrentComposites(),   ops::QuantizedComposites(),
      ops::OptimizerComposites(),   ops::SamplingComposites(),    ops::RegionComposites(),
      ops::LayoutComposites(),      ops::ConstantComposites(),    ops::BitComposites(),
      ops::DeterminantComposites(), ops::TransformerComposites(), ops::BlockedComposites(),
      ops::QuantizedProducts(),     ops::QuantizedElementwise()};
  static const auto* const table = [] {
    auto* by_type = new absl::flat_hash_map<std::string, const OnnxImporter*>;
    auto add = [&](const std::vector<OnnxImporter>& importers) {
      for (const OnnxImporter& importer : importers) by_type->emplace(importer.op_type, &importer);
    };
    add(ConstantOps());
    for (const std::vector<OnnxImporter>& importers : *composites) add(importers);
    for (const OpDef* op : AllOps()) add(op->onnx_import);
    return by_type;
  }();
  auto it = table->find(op_type);
  return it == table->end() ? nullptr : it->second;
}

const OnnxImporter* FindImporter(const std::string& op_type) {
  const OnnxImporter* known = FindKnownImporter(op_type);
  return known != nullptr ? known : FindDefinedImporter(op_type);
}

// Whether the operator's importer accepts symbolic sizes: it computes with none, or with
// expressions.
bool TakesSymbolicSizes(const onnx::NodeProto& node) {
  static const auto* const names = new absl::flat_hash_set<std::string>{
#define LEMMA_ONNX_OP(name) #name,
#include "graph/onnx/sizes/symbolic_ops.inc"
#undef LEMMA_ONNX_OP
  };
  const std::string& type = node.op_type();
  return names->contains(type) || FindDefinedImporter(absl::StrCat(node.domain(), ".", type));
}

// The same for operators whose importers accept symbolic sizes in some forms only. Where an import
// for all sizes fails, it is tried with numbers.
bool TriesSymbolicSizes(const std::string& op_type) {
  return op_type == "Attention" || op_type == "GroupQueryAttention" ||
         op_type == "MultiHeadAttention" || op_type == "QAttention" || op_type == "RotaryEmbedding";
}

// Replaces references to the function's attributes by the call's attributes; absent ones disappear.
void BindAttributes(const onnx::NodeProto& call, NodeList* nodes) {
  for (onnx::NodeProto& node : *nodes) {
    auto* attributes = node.mutable_attribute();
    for (int i = attributes->size() - 1; i >= 0; --i) {
      onnx::AttributeProto& attribute = *attributes->Mutable(i);
      if (attribute.has_g()) BindAttributes(call, attribute.mutable_g()->mutable_node());
      if (attribute.ref_attr_name().empty()) continue;
      const onnx::AttributeProto* actual = nullptr;
      for (const auto& candidate : call.attribute()) {
        if (candidate.name() == attribute.ref_attr_name()) actual = &candidate;
      }
      if (actual == nullptr) {
        attributes->DeleteSubrange(i, 1);
      } else {
        std::string name = attribute.name();
        attribute = *actual;
        attribute.set_name(name);
      }
    }
  }
}

// Fields of ONNX headers newer than the ones used here.
constexpr int kOverloadOfNode = 8, kOverloadOfFunction = 13, kDefaultsOfFunction = 11;

template <class Message, class Visit>
void VisitUnknown(const Message& message, int number, const Visit& visit) {
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() == number) visit(fields.field(i));
  }
}

template <class Message>
bool HasUnknown(const Message& message, int number) {
  bool has = false;
  VisitUnknown(message, number, [&](const auto&) { has = true; });
  return has;
}

// "node 'a' (TopK of operator set 13)".
std::string DescribeIn(const onnx::NodeProto& node, const Scope& scope) {
  std::string text = Describe(node);
  auto opset = scope.opsets.find(NormalDomain(node.domain()));
  if (opset == scope.opsets.end() || text.back() != ')') return text;
  text.pop_back();
  const std::string domain = opset->first.empty() ? "" : absl::StrCat(opset->first, " ");
  return absl::StrCat(text, " of ", domain, "operator set ", opset->second, ")");
}

// The call, with the function's defaults for missing attributes.
absl::StatusOr<onnx::NodeProto> WithDefaults(const onnx::FunctionProto& function,
                                             const onnx::NodeProto& call) {
  onnx::NodeProto full = call;
  bool parsed = true;
  VisitUnknown(function, kDefaultsOfFunction, [&](const auto& field) {
    onnx::AttributeProto attribute;
    parsed = parsed && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
             attribute.ParseFromString(field.length_delimited());
    for (const auto& given : full.attribute()) {
      if (given.name() == attribute.name()) return;
    }
    *full.add_attribute() = std::move(attribute);
  });
  if (parsed) return full;
  return absl::InvalidArgumentError(
      absl::StrCat("the attributes of function ", function.name(), " are damaged"));
}

}  // namespace

// A type that has two meanings has no importer.
bool HasImporter(const onnx::NodeProto& node, int opset) {
  Scope scope;
  scope.opsets[""] = opset;
  if (FindStructural(node, scope)) return true;
  const std::string domain = NormalDomain(node.domain());
  const std::string type =
      domain.empty() ? node.op_type() : absl::StrCat(domain, ".", node.op_type());
  return (FindKnownImporter(type) != nullptr) != (FindDefinedImporter(type) != nullptr);
}

int ModelImporter::UsedOutputs(const onnx::NodeProto& node) const {
  int used = 1;
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).empty() && used_.count(node.output(i)) != 0) used = i + 1;
  }
  return used;
}

absl::Status ModelImporter::ImportNodes(const NodeList& nodes,
                                        const std::vector<std::string>& outputs, Scope* scope) {
  if (scope->depth > kMaxNesting) {
    return absl::InvalidArgumentError("functions or subgraphs are nested too deeply");
  }
  auto order = OrderNodes(
      nodes, [&](const std::string& name) { return scope->Has(name); }, outputs);
  if (!order.ok()) return order.status();
  used_.insert(order->used.begin(), order->used.end());
  for (int i : order->nodes) {
    if (++nodes_imported_ > kMaxNodes) {
      return absl::InvalidArgumentError("more than a million nodes after inlining");
    }
    if (scope == &main_) asked_.clear();
    const size_t draws = draws_.size();
    if (auto status = ImportNode(nodes[i], scope); !status.ok()) return status;
    if (scope == &main_) RecordOrigin(i, draws_.size() > draws);
  }
  return absl::OkStatus();
}

void ModelImporter::RecordOrigin(int position, bool draws) {
  const onnx::NodeProto& node = model_->graph().node(position);
  OriginNode record;
  record.nodes = {position};
  record.asked = std::move(asked_);
  record.draws = draws;
  std::set<std::string> inputs;
  for (const std::string& name : NamesRead(node)) {
    if (!inputs.insert(name).second) continue;
    if (const Value* value = main_.Find(name)) {
      if (*value) record.inputs.emplace_back(name, *value);
      continue;
    }
    auto maker = list_makers_.find(name);
    if (maker == list_makers_.end()) continue;
    const OriginNode& list = origin_->nodes[maker->second];
    record.nodes.insert(record.nodes.end(), list.nodes.begin(), list.nodes.end());
    record.asked.insert(record.asked.end(), list.asked.begin(), list.asked.end());
    for (const NamedValue& input : list.inputs) {
      if (inputs.insert(input.first).second) record.inputs.push_back(input);
    }
  }
  std::sort(record.nodes.begin(), record.nodes.end());
  record.nodes.erase(std::unique(record.nodes.begin(), record.nodes.end()), record.nodes.end());
  for (const std::string& name : node.output()) {
    auto value = main_.values.find(name);
    if (value != main_.values.end()) record.outputs.push_back(*value);
    if (main_.sequences.contains(name)) {
      record.makes_list = true;
      list_makers_[name] = origin_->nodes.size();
    }
  }
  origin_->nodes.push_back(std::move(record));
}

absl::Status ModelImporter::ImportNode(const onnx::NodeProto& node, Scope* scope) {
  const size_t opaque_before = result_.opaque.size();
  const Use use = use_;
  if (!options_.computes_result_sizes && NormalDomain(node.domain()).empty()) {
    const bool decides =
        node.op_type() == "If" || node.op_type() == "Loop" || node.op_type() == "TopK";
    if (decides) use_ = std::min(use_, Use::kIntegers);
    if (HasOpenResults(node)) use_ = Use::kNone;
  }
  auto results = Translate(node, *scope);
  if (!results.ok()) result_.opaque.resize(opaque_before);  // those inside it
  std::string what = DescribeIn(node, *scope);
  // Later operator sets may allow what the known ones do not.
  const bool newer = scope->opset() > kNewestChecked && absl::IsInvalidArgument(results.status()) &&
                     NormalDomain(node.domain()).empty();
  // An error may be one of sizes that are known only at run time.
  const bool open = !results.ok() && ReadsResultSizes(node, *scope);
  if (newer || open || absl::IsUnimplemented(results.status())) {
    auto opaque = MakeOpaque(node, *scope);
    if (opaque.ok()) {
      result_.opaque.push_back(absl::StrCat(what, ": ", results.status().message()));
      results = std::vector<Result>(opaque->begin(), opaque->end());
    } else if (absl::IsInvalidArgument(opaque.status())) {
      results = opaque.status();
    } else if (auto sizes = CheckSizes(node, *scope); absl::IsFailedPrecondition(sizes)) {
      results = sizes;  // it may be kept at fixed sizes
    } else {
      absl::StrAppend(&what, ", which cannot be kept as it is: ", opaque.status().message());
    }
  }
  use_ = use;
  if (!results.ok()) {
    NoteNeededSizes(node, *scope);
    return absl::Status(results.status().code(),
                        absl::StrCat(what, ": ", results.status().message()));
  }
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    bool made =
        i < static_cast<int>(results->size()) && ((*results)[i].sequence || (*results)[i].value);
    if (!made) {
      if (used_.count(name) == 0) continue;
      return absl::UnimplementedError(absl::StrCat(
          Describe(node), ": unsupported: ", node.op_type(), " (output ", i, " '", name, "')"));
    }
    if ((*results)[i].sequence) {
      scope->sequences[name] = *std::move((*results)[i].sequence);
      continue;
    }
    Value value = PromoteToWeight(node, (*results)[i].value);
    builder_.Label(value, name);
    if (node.domain() == "com.microsoft.nchwc") {
      for (const Value& plain : ops::PlainForms(value, channel_block_)) {
        names_of_blocked_.emplace_back(plain, name);
      }
    }
    scope->values[name] = std::move(value);
  }
  return absl::OkStatus();
}

void ModelImporter::NoteNeededSizes(const onnx::NodeProto& node, const Scope& scope) {
  if (!options_.symbolic || !needed_sizes_.empty()) return;
  DimValues batches;
  const DimValues sizes = UsualSizes();
  for (const auto& [name, range] : DimsReadBy(node, scope)) {
    if (usual_sizes_.count(name) == 0) continue;
    const auto usual = sizes.find(name);
    (usual->second == 1 ? batches : needed_sizes_).insert(*usual);
  }
  // The first dimension is rarely the reason; it is fixed only if no other is left.
  if (needed_sizes_.empty()) needed_sizes_ = std::move(batches);
}

Value ModelImporter::PromoteToWeight(const onnx::NodeProto& node, const Value& value) {
  if (value.node().kind() != Node::Kind::kConstant || !IsFloat(value.dtype())) return value;
  const Tensor& tensor = value.node().payload();
  // Published models omit their weights by replacing an initializer with only its shape.
  bool expanded = node.op_type() == "ConstantOfShape" && node.input_size() == 1 &&
                  initializers_.count(node.input(0)) != 0 && tensor.size() > 1;
  bool large = node.op_type() == "Constant" && tensor.size() > kMaxConstantElements;
  return expanded || large ? builder_.Weight(node.output(0), tensor) : value;
}

absl::StatusOr<std::vector<Result>> ModelImporter::Translate(const onnx::NodeProto& node,
                                                             const Scope& scope) {
  absl::flat_hash_set<absl::string_view> attributes;
  for (const auto& attribute : node.attribute()) {
    if (!attributes.insert(attribute.name()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", attribute.name(), " is given twice"));
    }
  }
  if (HasUnknown(node, kOverloadOfNode)) {
    return absl::InvalidArgumentError("overloads of functions are not known here");
  }
  std::string domain = NormalDomain(node.domain());
  auto function = functions_.find(absl::StrCat(domain, ":", node.op_type()));
  if (function != functions_.end() && HasUnknown(*function->second, kOverloadOfFunction)) {
    return absl::InvalidArgumentError("overloads of functions are not known here");
  }
  if (function != functions_.end() && !IsOwnFunction(*function->second)) {
    return InlineFunction(*function->second, node, scope);
  }
  if (StructuralImporter importer = FindStructural(node, scope)) {
    // A loop that is not unrolled is kept for all sizes.
    if (!IsLongLoop(*this, node, scope)) LEMMA_RETURN_IF_ERROR(CheckSizes(node, scope));
    return importer(*this, node, scope);
  }
  auto values = CallImporter(node, scope);
  if (!values.ok()) return values.status();
  return std::vector<Result>(values->begin(), values->end());
}

Value ModelImporter::Untied(const onnx::NodeProto& node, const Scope& scope) {
  if (!options_.training || node.op_type() != "Identity" || node.input_size() != 1) return Value();
  const Value* source = scope.Find(node.input(0));
  if (source == nullptr || !*source || source->node().kind() != Node::Kind::kWeight) return Value();
  const Tensor& values = source->node().payload();
  for (int64_t i = 1; i < values.size(); ++i) {
    if (values.AtDouble(i) != values.AtDouble(0)) return Value();
  }
  return builder_.Weight(node.output(0), values);
}

absl::Status ModelImporter::CheckSizes(const onnx::NodeProto& node, const Scope& scope) {
  if (!HasSymbols() || TakesSymbolicSizes(node)) return absl::OkStatus();
  const std::map<std::string, SizeRange> dims = DimsReadBy(node, scope);
  if (dims.empty()) return absl::OkStatus();
  std::string names;
  bool is_open = true;
  for (const auto& [name, range] : dims) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", name);
    is_open = is_open && IsResultSize(range);
  }
  if (is_open || HasOpenResults(node)) {
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", node.op_type(), " (sizes that depend on ", names, ")"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(node.op_type(), " needs numbers for its sizes, here they depend on ", names,
                   ": give --dim NAME=SIZE"));
}

std::map<std::string, SizeRange> ModelImporter::DimsReadBy(const onnx::NodeProto& node,
                                                           const Scope& scope) {
  std::map<std::string, SizeRange> dims;
  for (const std::string& name : NamesRead(node)) {
    const Value* value = name.empty() ? nullptr : scope.Find(name);
    if (value == nullptr || !*value) continue;
    for (int64_t size : value->shape()) CollectDims(size, &dims);
    auto elements = sizes_[static_cast<size_t>(use_)].Of(*value);
    for (const IndexExpr& e : elements.value_or(std::vector<IndexExpr>())) {
      CollectDims(*ToSize(e), &dims);
    }
  }
  return dims;
}

bool ModelImporter::ReadsResultSizes(const onnx::NodeProto& node, const Scope& scope) {
  if (result_sizes_.empty()) return false;
  const std::map<std::string, SizeRange> dims = DimsReadBy(node, scope);
  return std::any_of(dims.begin(), dims.end(),
                     [](const auto& dim) { return IsResultSize(dim.second); });
}

absl::StatusOr<std::vector<Value>> ModelImporter::CallImporter(const onnx::NodeProto& node,
                                                               const Scope& scope) {
  std::string domain = NormalDomain(node.domain());
  std::string name = domain.empty() ? node.op_type() : absl::StrCat(domain, ".", node.op_type());
  if (Value weight = Untied(node, scope)) return std::vector<Value>{weight};
  const OnnxImporter* importer = options_.training ? FindImporter("training." + name) : nullptr;
  if (importer == nullptr) importer = FindImporter(name);
  if (importer == nullptr) {
    // An operator of an unknown domain may be the user's own.
    const char* hint = domain.empty() ? "" : "; docs/operators-of-your-own.md says how to give one";
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", name, " (no definition", hint, ")"));
  }
  if (FindKnownImporter(name) != nullptr && FindDefinedImporter(name) != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        " has a meaning in Lemma and another one in a file of definitions; rename the latter"));
  }
  const absl::Status with_numbers = CheckSizes(node, scope);
  const bool tries = TriesSymbolicSizes(node.op_type()) && !ReadsResultSizes(node, scope);
  if (!with_numbers.ok() && !tries) return with_numbers;
  auto imported = ImportedNode::Make(this, node, scope, UsedOutputs(node));
  if (!imported.ok()) return imported.status();
  auto values = importer->import(**imported);
  if (!values.ok() && !with_numbers.ok()) {
    return absl::Status(with_numbers.code(),
                        absl::StrCat(with_numbers.message(), " (", values.status().message(), ")"));
  }
  if (!values.ok()) return values;
  if (auto status = (*imported)->CheckUnderstood(); !status.ok()) return status;
  return values;
}

absl::StatusOr<std::vector<Result>> ModelImporter::InlineFunction(
    const onnx::FunctionProto& function, const onnx::NodeProto& call, const Scope& scope) {
  Scope body;
  body.depth = scope.depth + 1;
  body.opsets = scope.opsets;
  for (const auto& entry : function.opset_import()) {
    body.opsets[NormalDomain(entry.domain())] = static_cast<int>(entry.version());
  }
  for (int i = 0; i < function.input_size(); ++i) {
    const Value* value = i < call.input_size() ? scope.Find(call.input(i)) : nullptr;
    // An absent argument becomes an empty value, so that the body's nodes see it as absent, too.
    body.values[function.input(i)] = value == nullptr ? Value() : *value;
  }
  NodeList nodes = function.node();
  auto full = WithDefaults(function, call);
  if (!full.ok()) return full.status();
  BindAttributes(*full, &nodes);
  std::vector<std::string> outputs(function.output().begin(), function.output().end());
  if (auto status = ImportNodes(nodes, outputs, &body); !status.ok()) return status;
  std::vector<Result> results;
  for (const std::string& name : outputs) {
    const std::vector<Value>* sequence = body.FindSequence(name);
    if (sequence != nullptr) {
      results.emplace_back(*sequence);
    } else {
      results.emplace_back(*body.Find(name));
    }
  }
  return results;
}

absl::StatusOr<std::vector<Result>> ModelImporter::ImportSubgraph(const onnx::GraphProto& graph,
                                                                  Scope* scope) {
  if (auto status = ReadInitializers(graph, scope); !status.ok()) return status;
  for (const auto* list : {&graph.value_info(), &graph.output()}) {
    for (const auto& info : *list) scope->declared[info.name()] = &info.type();
  }
  std::vector<std::string> outputs;
  for (const auto& output : graph.output()) outputs.push_back(output.name());
  if (auto status = ImportNodes(graph.node(), outputs, scope); !status.ok()) return status;
  std::vector<Result> results;
  for (const std::string& name : outputs) {
    const std::vector<Value>* sequence = scope->FindSequence(name);
    if (sequence != nullptr) {
      results.emplace_back(*sequence);
    } else {
      results.emplace_back(*scope->Find(name));
    }
  }
  return results;
}

static size_t Completed(const std::map<std::string, OpenType>& types) {
  return static_cast<size_t>(std::count_if(
      types.begin(), types.end(), [](const auto& type) { return type.second.Complete(); }));
}

std::map<std::string, OpenType> ModelImporter::InferredTypesOf(const OpaqueNode& opaque,
                                                               const std::vector<Value>& inputs) {
  onnx::ModelProto model;
  if (!model.ParseFromString(opaque.payload)) return {};
  std::map<std::string, OpenType> found;
  // First with constants only: an input's value would be fixed for the whole graph.
  for (const bool fix_inputs : {false, true}) {
    std::map<std::string, KnownValue> values;
    bool knows_more = !fix_inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      KnownValue value{inputs[i].type(), std::nullopt};
      // A size, an axis or the like.
      constexpr int64_t kMostElements = 1024;
      const bool small = !IsSymbolic(value.type.shape) &&
                         value.type.num_elements() <= kMostElements && IsInteger(value.type.dtype);
      if (small && (fix_inputs || inputs[i].node().has_payload())) {
        value.elements = Known(inputs[i]);
        knows_more = knows_more || (value.elements && !inputs[i].node().has_payload());
      }
      // The payload calls it one or the other.
      for (const char* kind : {"i", "c"}) values[absl::StrCat(kind, i)] = value;
    }
    if (!knows_more) break;
    std::map<std::string, OpenType> types = InferredTypes(model, values);
    if (Completed(types) >= Completed(found)) found = std::move(types);
    if (Completed(found) >= opaque.outputs.size()) break;
  }
  return found;
}

absl::StatusOr<std::vector<Value>> ModelImporter::MakeOpaque(const onnx::NodeProto& original,
                                                             const Scope& scope,
                                                             std::vector<TensorType> types) {
  onnx::NodeProto node = original;
  if (ReadsFiles(node, {})) LEMMA_RETURN_IF_ERROR(EmbedFiles(&node, &files_));
  if (ReadsFiles(node, functions_)) return absl::UnimplementedError("it has external data inside");
  std::string mark;
  if (MayDraw(node, functions_)) {
    // Two such nodes are never equal. The mark is the first line of the node's documentation.
    mark = absl::StartsWith(node.doc_string(), kDrawMark)
               ? node.doc_string().substr(0, node.doc_string().find('\n'))
               : absl::StrCat(kDrawMark, draws_.size());
    if (!draws_.insert(mark).second) {
      return absl::InvalidArgumentError(absl::StrCat("two nodes are marked '", mark, "'"));
    }
  }
  OpaqueNode opaque = PackOpaque(node, scope.opsets, functions_, mark);
  std::vector<Value> inputs;
  for (const std::string& name : opaque.inputs) {
    const Value* value = scope.Find(name);
    if (value == nullptr || !*value)
      return absl::UnimplementedError(absl::StrCat("its input '", name, "' is no tensor"));
    inputs.push_back(*value);
  }
  if (types.empty()) {
    LEMMA_ASSIGN_OR_RETURN(types, TypesOfOutputs(node, scope, opaque, inputs));
  }
  auto values = ApplyOpaque(std::move(inputs),
                            {{"domain", NormalDomain(node.domain())},
                             {"op_type", node.op_type()},
                             {"payload", std::move(opaque.payload)}},
                            std::move(types));
  if (!values.ok()) return values;
  NoteMakers(*values);
  // Back to ONNX's positions, where an output may be omitted.
  std::vector<Value> outputs;
  size_t next = 0;
  for (const std::string& name : node.output()) {
    outputs.push_back(name.empty() ? Value() : (*values)[next++]);
  }
  return outputs;
}

}  // namespace lemma
