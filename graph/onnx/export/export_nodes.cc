// Writes the nodes of an exported model: those that are kept from the model that was imported, and
// those that operators say how to write.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/export/exporter.h"
#include "graph/onnx/export/small_types.h"
#include "graph/onnx/functions/own_functions.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/node_order.h"
#include "graph/onnx/run_time/choosing_if.h"
#include "graph/sizes/specialize.h"

namespace lemma {
namespace {

// Whether a real attribute of an ONNX node can hold the number: rounded, but not to 0 or an
// infinity.
bool HoldsReal(double v) {
  const double single = static_cast<float>(v);
  return std::isnan(v) || v == single ||
         (std::isfinite(single) && std::abs(single - v) <= 0x1p-24 * std::abs(v));
}

bool HoldsReals(const OnnxAttr& attr) {
  if (auto* real = std::get_if<double>(&attr)) return HoldsReal(*real);
  auto* reals = std::get_if<std::vector<double>>(&attr);
  return reals == nullptr || std::all_of(reals->begin(), reals->end(), HoldsReal);
}

struct AttrSetter {
  onnx::AttributeProto* proto;

  using A = onnx::AttributeProto;
  void operator()(int64_t v) const {
    proto->set_type(A::INT);
    proto->set_i(v);
  }
  void operator()(double v) const {
    proto->set_type(A::FLOAT);
    proto->set_f(static_cast<float>(v));
  }
  void operator()(const std::string& v) const {
    proto->set_type(A::STRING);
    proto->set_s(v);
  }
  void operator()(const std::vector<int64_t>& v) const {
    proto->set_type(A::INTS);
    for (int64_t x : v) proto->add_ints(x);
  }
  void operator()(const std::vector<double>& v) const {
    proto->set_type(A::FLOATS);
    for (double x : v) proto->add_floats(static_cast<float>(x));
  }
  void operator()(const std::vector<std::string>& v) const {
    proto->set_type(A::STRINGS);
    for (const std::string& x : v) proto->add_strings(x);
  }
  void operator()(const Tensor& v) const {
    proto->set_type(A::TENSOR);
    *proto->mutable_t() = ToProto("", v);
  }
};

// Whether the operator's export is right for symbolic sizes: it passes sizes on as constants, and
// computes with none.
bool ExportsSymbolicSizes(const Node& node) {
  static const auto* const groups =
      new absl::flat_hash_set<std::string>{"activation", "comparison and logic", "element-wise"};
  static const auto* const names = new absl::flat_hash_set<std::string>{"argmax",
                                                                        "argmin",
                                                                        "avg_pool2d",
                                                                        "barrier",
                                                                        "batch_norm",
                                                                        "cast",
                                                                        "concat",
                                                                        "conv2d",
                                                                        "cumsum",
                                                                        "einsum",
                                                                        "expand",
                                                                        "gather",
                                                                        "gather_elements",
                                                                        "gather_nd",
                                                                        "iota",
                                                                        "layer_norm",
                                                                        "log_softmax",
                                                                        "matmul",
                                                                        "max_pool2d",
                                                                        "pad",
                                                                        "reduce_l1",
                                                                        "reduce_l2",
                                                                        "reduce_max",
                                                                        "reduce_mean",
                                                                        "reduce_min",
                                                                        "reduce_sum",
                                                                        "reshape",
                                                                        "resize_nearest",
                                                                        "sizes",
                                                                        "slice",
                                                                        "softmax",
                                                                        "split",
                                                                        "tile",
                                                                        "transpose",
                                                                        "trilu",
                                                                        "instance_norm",
                                                                        "conv_transpose2d",
                                                                        "opaque",
                                                                        "resample",
                                                                        "depth_to_space",
                                                                        "space_to_depth",
                                                                        "one_hot",
                                                                        "reverse_sequence",
                                                                        "scatter_elements",
                                                                        "scatter_nd",
                                                                        "top_k",
                                                                        "hardmax",
                                                                        "lrn",
                                                                        "group_norm"};
  const OpDef& op = node.op();
  if (op.name == "bitwise_and" || op.name == "dropout") return false;
  // Scatters that take the larger or smaller element are written as parts that count elements.
  const bool reduces = op.FindAttr("reduction") != nullptr;
  if (reduces && (node.String("reduction") == "max" || node.String("reduction") == "min")) {
    return false;
  }
  if (op.FindAttr("ceil_mode") != nullptr && node.Int("ceil_mode") != 0) return false;
  return names->contains(op.name) || groups->contains(op.group);
}

bool HasSymbols(const OnnxAttr& attr) {
  auto* size = std::get_if<int64_t>(&attr);
  auto* sizes = std::get_if<std::vector<int64_t>>(&attr);
  return (size != nullptr && IsSymbolic(*size)) || (sizes != nullptr && IsSymbolic(*sizes));
}

// The mark of an opaque node that may draw random numbers; "" for any other node.
std::string DrawMark(const Node& node) {
  onnx::ModelProto payload;
  if (!node.IsOp("opaque") || !payload.ParseFromString(node.String("payload")) ||
      payload.graph().node_size() != 1) {
    return "";
  }
  const std::string& mark = payload.graph().node(0).doc_string();
  return absl::StartsWith(mark, kDrawMark) ? mark : "";
}

}  // namespace

class NodeExport : public OnnxExport {
 public:
  NodeExport(Exporter* exporter, NodePtr node) : exporter_(exporter), node_(std::move(node)) {}

  const Node& node() const override { return *node_; }
  std::string Input(int i) override {
    if (i < 0 || i >= static_cast<int>(node_->inputs().size())) return "";
    const Value& input = node_->inputs()[i];
    const std::string& name = exporter_->NameOf(input);
    exporter_->element_types_[name] = ToOnnxType(input.dtype());
    return name;
  }
  std::string Output(int i) override { return exporter_->OutputName(Value(node_, i)); }
  std::string Temporary() override {
    if (exporter_->origin_ == nullptr) return exporter_->Fresh("t");
    const std::string output = Output(0);
    const std::string name = exporter_->Fresh(absl::StrCat(output, "/part"));
    auto user = exporter_->made_for_.find(output);
    exporter_->made_for_[name] = user == exporter_->made_for_.end() ? output : user->second;
    return name;
  }
  std::string Constant(Tensor tensor) override { return exporter_->AddConstant(std::move(tensor)); }
  void Emit(absl::string_view op_type, std::vector<std::string> inputs,
            std::vector<std::string> outputs,
            std::vector<std::pair<std::string, OnnxAttr>> attrs) override;
  // What ONNX cannot express of the emitted graph.
  const absl::Status& status() const { return status_; }

 private:
  Exporter* exporter_;
  NodePtr node_;
  absl::Status status_;
};

void NodeExport::Emit(absl::string_view op_type, std::vector<std::string> inputs,
                      std::vector<std::string> outputs,
                      std::vector<std::pair<std::string, OnnxAttr>> attrs) {
  onnx::NodeProto proto;
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  while (!outputs.empty() && outputs.back().empty()) outputs.pop_back();
  // Types of the default domain have no dots.
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrContains(op_type, '.') ? std::make_pair(op_type.substr(0, op_type.rfind('.')),
                                                       op_type.substr(op_type.rfind('.') + 1))
                                      : std::make_pair(absl::string_view(), op_type);
  proto.set_domain(std::string(parts.first));
  proto.set_op_type(std::string(parts.second));
  for (std::string& name : inputs) proto.add_input(std::move(name));
  for (const std::string& name : outputs) proto.add_output(name);
  if (!outputs.empty()) proto.set_name(exporter_->NodeName(proto.op_type(), outputs[0]));
  for (const auto& [name, value] : attrs) {
    onnx::AttributeProto* attribute = proto.add_attribute();
    attribute->set_name(name);
    std::visit(AttrSetter{attribute}, value);
    if (HasSymbols(value) && status_.ok()) {
      status_ =
          absl::UnimplementedError(absl::StrCat("unsupported: attribute ", name, " is no number"));
    }
    if (!HoldsReals(value) && status_.ok()) {
      status_ = absl::UnimplementedError(
          absl::StrCat("unsupported: attribute ", name, " is no f32 number"));
    }
  }
  auto added = proto.domain().empty() ? exporter_->AddForm(std::move(proto))
                                      : exporter_->AddOfDomain(std::move(proto), node());
  if (status_.ok()) status_ = added;
}

void Exporter::Need(int opset, std::string reason) {
  if (opset <= needed_opset_) return;
  needed_opset_ = opset;
  reason_ = std::move(reason);
}

ConversionContext Exporter::MakeContext() {
  ConversionContext context;
  context.constant = [this](const std::string& name) -> const Tensor* {
    auto it = constant_values_.find(name);
    return it == constant_values_.end() ? nullptr : &it->second;
  };
  context.type = [this](const std::string& name) -> const TensorType* {
    auto it = types_.find(name);
    return it == types_.end() ? nullptr : &it->second;
  };
  context.new_constant = [this](Tensor tensor) { return AddConstant(std::move(tensor)); };
  context.new_name = [this] { return Fresh("t"); };
  return context;
}

absl::Status Exporter::AddForm(onnx::NodeProto node) {
  const ConversionContext context = MakeContext();
  if (opset_ == kExportOpset) {
    *model_.mutable_graph()->add_node() = std::move(node);
    return absl::OkStatus();
  }
  ConvertedNode converted = ConvertNode(opset_, node, context, &element_types_);
  if (converted.nodes.empty()) {
    const int opset = OpsetFor(opset_ + 1, node, context, element_types_);
    const std::string reason = absl::StrCat(Describe(node), ": operator set ", opset_,
                                            " does not have ", converted.problem);
    if (opset == 0) return absl::UnimplementedError(absl::StrCat("unsupported: ", reason));
    Need(opset, reason);
    converted.nodes.push_back(std::move(node));  // the next attempt writes it
  }
  for (onnx::NodeProto& made : converted.nodes) {
    *model_.mutable_graph()->add_node() = std::move(made);
  }
  return absl::OkStatus();
}

// Adds the body of an operator that ONNX does not have.
absl::Status Exporter::AddOwnFunction(const onnx::NodeProto& call) {
  const auto function = OwnFunction(call.op_type(), std::max(opset_, kFunctionOpset));
  if (!function) return absl::OkStatus();  // of a file of definitions
  Need(kFunctionOpset, absl::StrCat(Describe(call), ": is written as a function of that set"));
  const auto other = functions_.find(absl::StrCat(kOwnDomain, ":", call.op_type()));
  if (other != functions_.end() && !IsOwnFunction(*other->second)) {
    return absl::UnimplementedError(absl::StrCat("unsupported: ", call.op_type(),
                                                 " (the model has another function ", kOwnDomain,
                                                 ".", call.op_type(), "; rename it)"));
  }
  model_.set_ir_version(std::max<int64_t>(model_.ir_version(), kFunctionIrVersion));
  return other != functions_.end() ? absl::OkStatus() : AddFunction(*function);
}

// Such operators have one version here, which the model's own version of the domain replaces.
absl::Status Exporter::AddOfDomain(onnx::NodeProto proto, const Node& node) {
  if (!HasImporter(proto, opset_)) {
    return absl::InvalidArgumentError(
        absl::StrCat(node.op().name, " cannot be written as ", proto.domain(), ".", proto.op_type(),
                     ", which has a meaning in Lemma and another one in a file of definitions"));
  }
  opsets_.emplace(NormalDomain(proto.domain()), 1);
  if (proto.domain() == kOwnDomain) {
    LEMMA_RETURN_IF_ERROR(AddOwnFunction(proto));
  }
  for (int i = 0; i < proto.output_size(); ++i) {
    element_types_[proto.output(i)] = ToOnnxType(node.type(i).dtype);
  }
  *model_.mutable_graph()->add_node() = std::move(proto);
  return absl::OkStatus();
}

// A choice by one truth value came from an If where the model has such nodes.
bool Exporter::IsBranch(const Node& node) const {
  return has_ifs_ && node.IsOp("where") && node.inputs()[0].type().rank() == 0 &&
         node.inputs()[1].type() == node.type(0) && node.inputs()[2].type() == node.type(0);
}

void Exporter::AddIf(const NodePtr& node) {
  const std::string output = OutputName(Value(node, 0));
  onnx::NodeProto proto;
  proto.set_op_type("If");
  proto.set_name(NodeName("If", output));
  proto.add_input(NameOf(node->inputs()[0]));
  proto.add_output(output);
  for (int side : {1, 2}) {
    onnx::GraphProto* branch = AddBranch(side == 1, &proto);
    branch->set_name(absl::StrCat(output, side == 1 ? "/then" : "/else"));
    const std::string result = Fresh(branch->name());
    SetPort(result, node->type(0), AddPassedOn(NameOf(node->inputs()[side]), result, branch));
    branch->mutable_node(0)->set_name(absl::StrCat("Identity/", result));
  }
  element_types_[output] = ToOnnxType(node->type(0).dtype);
  ifs_.insert(output);
  *model_.mutable_graph()->add_node() = std::move(proto);
}

absl::Status Exporter::AddNode(const NodePtr& node) {
  switch (node->kind()) {
    case Node::Kind::kInput:
      return absl::OkStatus();
    case Node::Kind::kWeight:
    case Node::Kind::kConstant: {
      Value value(node, 0);
      std::string name = NameOf(value);
      if (node->has_payload()) {
        AddTensor(name, node->payload(), node->kind() == Node::Kind::kWeight);
      } else {
        SetPort(name, value.type(), model_.mutable_graph()->add_input());
      }
      return absl::OkStatus();
    }
    case Node::Kind::kOp:
      break;
  }
  if (node->IsOp("opaque")) return AddOpaque(node);
  if (IsBranch(*node)) {
    AddIf(node);
    return absl::OkStatus();
  }
  const OpDef& op = node->op();
  if (!op.onnx_export) {
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", op.name, " (ONNX has no such operator)"));
  }
  const bool is_symbolic =
      IsSymbolic(*node) || std::any_of(node->inputs().begin(), node->inputs().end(),
                                       [](const Value& v) { return IsSymbolic(v.shape()); });
  if (is_symbolic && !ExportsSymbolicSizes(*node)) {
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", op.name, " with symbolic sizes; --dim gives numbers"));
  }
  Need(OpsetOfOperator(*node), absl::StrCat(op.name, " of ", Name(node->type(0).dtype)));
  NodeExport written(this, node);
  auto status = NeedsWiderTypes(*node) ? ExportInWiderTypes(written) : op.onnx_export(written);
  if (status.ok()) status = written.status();
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("'", NameOf(Value(node, 0)), "' (", op.name,
                                                  "): ", status.message()));
}

bool Exporter::IsUsable(const OriginNode& origin) const {
  if (origin.draws && (origin.outputs.empty() || DrawMark(origin.outputs[0].second.node()).empty()))
    return false;
  const auto own = origin_->opsets.find("");
  const int before = own == origin_->opsets.end() ? options_.info.opset : own->second;
  for (int position : origin.nodes) {
    const onnx::NodeProto& node = origin_->model.graph().node(position);
    bool changes = false;
    VisitSubnodes(node, [&](const onnx::NodeProto& inner) {
      if (NormalDomain(inner.domain()).empty()) {
        changes |= OpsetOfChange(inner.op_type(), before, opset_) != 0;
      }
    });
    if (changes) return false;
  }
  return true;
}

// Writes the node, and those that make lists for it, as they were.
void Exporter::AddKept(const OriginNode& origin, const KeptNode& kept) {
  std::map<std::string, std::string> renamed;
  for (size_t i = 0; i < origin.inputs.size(); ++i) {
    const std::string& name = origin.inputs[i].first;
    auto named = plan_.named.find(name);
    if (named != plan_.named.end() && named->second == kept.inputs[i]) continue;
    renamed[name] = NameOf(kept.inputs[i]);
  }
  for (int position : origin.nodes) {
    onnx::NodeProto node = origin_->model.graph().node(position);
    for (std::string& input : *node.mutable_input()) {
      auto it = renamed.find(input);
      if (it != renamed.end()) input = it->second;
    }
    RenameInSubgraphs(&node, renamed);
    if (origin.draws) {
      const std::string mark = DrawMark(origin.outputs[0].second.node());
      if (!absl::StartsWith(node.doc_string(), kDrawMark)) {
        node.set_doc_string(
            node.doc_string().empty() ? mark : absl::StrCat(mark, "\n", node.doc_string()));
      }
    }
    *model_.mutable_graph()->add_node() = std::move(node);
  }
  for (const auto& [name, value] : origin.outputs) element_types_[name] = ToOnnxType(value.dtype());
}

absl::Status Exporter::CheckOpset(const onnx::NodeProto& node,
                                  const std::map<std::string, int>& opsets) {
  auto it = opsets.find(NormalDomain(node.domain()));
  const int opset = it == opsets.end() ? opset_ : it->second;
  if (!NormalDomain(node.domain()).empty()) {
    auto [entry, is_new] = opsets_.emplace(node.domain(), opset);
    if (entry->second == opset) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat("unsupported: ", node.op_type(),
                                                 " (two versions of domain ", node.domain(), ")"));
  }
  if (opset > opset_) {
    Need(opset, absl::StrCat(Describe(node), ": is of operator set ", opset));
  } else if (OpsetOfChange(node.op_type(), opset, opset_) != 0) {
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", node.op_type(), " (kept from operator set ", opset,
                     ", means something else in ", opset_, ", which other nodes need)"));
  }
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    for (const auto& inner : attribute.g().node()) {
      if (auto status = CheckOpset(inner, opsets); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

// Adds a function that an opaque node needs, once.
absl::Status Exporter::AddFunction(const onnx::FunctionProto& function) {
  for (const onnx::FunctionProto& known : model_.functions()) {
    if (known.domain() != function.domain() || known.name() != function.name()) continue;
    if (known.SerializeAsString() == function.SerializeAsString()) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", function.name(), " (two functions have this name)"));
  }
  std::map<std::string, int> opsets;
  for (const auto& entry : function.opset_import()) {
    opsets[NormalDomain(entry.domain())] = static_cast<int>(entry.version());
  }
  for (const onnx::NodeProto& node : function.node()) {
    if (auto status = CheckOpset(node, opsets); !status.ok()) return status;
  }
  *model_.add_functions() = function;
  return absl::OkStatus();
}

absl::Status Exporter::AddOpaque(const NodePtr& node) {
  std::vector<std::string> inputs, outputs;
  for (const Value& input : node->inputs()) inputs.push_back(NameOf(input));
  for (int i = 0; i < node->num_outputs(); ++i) outputs.push_back(OutputName(Value(node, i)));
  auto unpacked = UnpackOpaque(node->String("payload"), inputs, outputs,
                               [&](const std::string& name) { return Fresh(name); });
  if (!unpacked.ok()) return unpacked.status();
  if (auto status = CheckOpset(unpacked->node, unpacked->opsets); !status.ok()) return status;
  for (const onnx::FunctionProto& function : unpacked->functions) {
    if (auto status = AddFunction(function); !status.ok()) return status;
  }
  onnx::NodeProto* proto = model_.mutable_graph()->add_node();
  *proto = std::move(unpacked->node);
  if (IsChoosingIf(*proto)) {
    ifs_.insert(proto->output(0));
    for (auto& attribute : *proto->mutable_attribute()) {
      for (auto& identity : *attribute.mutable_g()->mutable_node()) {
        identity.set_name(absl::StrCat("Identity/", identity.output(0)));
      }
    }
  }
  if (!outputs.empty()) proto->set_name(NodeName(proto->op_type(), outputs[0]));
  // Nothing else determines their types.
  const std::vector<std::string>& named = graph_.output_names();
  for (int i = 0; i < node->num_outputs(); ++i) {
    element_types_[outputs[i]] = ToOnnxType(node->type(i).dtype);
    if (std::find(named.begin(), named.end(), outputs[i]) != named.end()) continue;
    SetPort(outputs[i], node->type(i), model_.mutable_graph()->add_value_info());
  }
  return absl::OkStatus();
}

}  // namespace lemma
