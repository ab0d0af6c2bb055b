#include "graph/onnx/export.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/opaque.h"
#include "graph/onnx_form.h"

namespace lemma {
namespace {

constexpr int kIrVersion = 8;  // introduced with operator set 15, and still current in 17

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

void SetType(const std::string& name, const TensorType& type, onnx::ValueInfoProto* proto) {
  proto->set_name(name);
  auto* tensor = proto->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(ToOnnxType(type.dtype));
  auto* shape = tensor->mutable_shape();  // also present for a scalar
  for (int64_t d : type.shape) shape->add_dim()->set_dim_value(d);
}

class Exporter {
 public:
  explicit Exporter(const Graph& graph, const ExportOptions& options)
      : graph_(graph), options_(options) {}

  absl::Status Run();

  onnx::ModelProto& model() { return model_; }
  // Payloads that initializers leave out, in the order of external_.
  const std::vector<std::pair<onnx::TensorProto*, Tensor>>& tensors() const { return tensors_; }
  int64_t tensor_bytes() const { return tensor_bytes_; }

 private:
  friend class NodeExport;

  void SetHeader();
  void NameValues();
  void AddInputs();
  absl::Status AddNode(const NodePtr& node);
  absl::Status AddOpaque(const NodePtr& node);
  void AddOutputs();
  absl::Status AddFunction(const onnx::FunctionProto& function);
  absl::Status CheckOpset(const onnx::NodeProto& node, const std::map<std::string, int>& opsets);

  std::string Fresh(absl::string_view wish);
  const std::string& NameOf(const Value& value);
  void AddTensor(const std::string& name, const Tensor& tensor, bool is_weight);

  const Graph& graph_;
  const ExportOptions& options_;
  onnx::ModelProto model_;
  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_map<Value, std::string> names_;
  absl::flat_hash_map<uint64_t, std::vector<std::pair<Tensor, std::string>>> constants_;
  std::map<std::string, int> opsets_{{"", kExportOpset}};
  std::vector<std::pair<onnx::TensorProto*, Tensor>> tensors_;
  int64_t tensor_bytes_ = 0;
};

class NodeExport : public OnnxExport {
 public:
  NodeExport(Exporter* exporter, NodePtr node) : exporter_(exporter), node_(std::move(node)) {}

  const Node& node() const override { return *node_; }
  std::string Input(int i) override {
    if (i < 0 || i >= static_cast<int>(node_->inputs().size())) return "";
    return exporter_->NameOf(node_->inputs()[i]);
  }
  std::string Output(int i) override { return exporter_->NameOf(Value(node_, i)); }
  std::string Temporary() override { return exporter_->Fresh("t"); }
  std::string Constant(Tensor tensor) override;
  void Emit(absl::string_view op_type, std::vector<std::string> inputs,
            std::vector<std::string> outputs,
            std::vector<std::pair<std::string, OnnxAttr>> attrs) override;
  // What ONNX cannot express of the emitted graph; "" if it expresses all.
  const std::string& lost() const { return lost_; }

 private:
  Exporter* exporter_;
  NodePtr node_;
  std::string lost_;
};

std::string NodeExport::Constant(Tensor tensor) {
  auto& same_hash = exporter_->constants_[tensor.ContentHash()];
  for (const auto& [known, name] : same_hash) {
    if (known.SameBytes(tensor)) return name;
  }
  std::string name = exporter_->Fresh("constant");
  exporter_->AddTensor(name, tensor, false);
  same_hash.emplace_back(std::move(tensor), name);
  return name;
}

void NodeExport::Emit(absl::string_view op_type, std::vector<std::string> inputs,
                      std::vector<std::string> outputs,
                      std::vector<std::pair<std::string, OnnxAttr>> attrs) {
  onnx::NodeProto* proto = exporter_->model_.mutable_graph()->add_node();
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  while (!outputs.empty() && outputs.back().empty()) outputs.pop_back();
  proto->set_op_type(std::string(op_type));
  for (std::string& name : inputs) proto->add_input(std::move(name));
  for (const std::string& name : outputs) proto->add_output(name);
  if (!outputs.empty()) proto->set_name(absl::StrCat(op_type, "/", outputs[0]));
  for (const auto& [name, value] : attrs) {
    onnx::AttributeProto* attribute = proto->add_attribute();
    attribute->set_name(name);
    std::visit(AttrSetter{attribute}, value);
    if (!HoldsReals(value)) lost_ = absl::StrCat("attribute ", name, " is no f32 number");
  }
}

std::string Exporter::Fresh(absl::string_view wish) {
  std::string name(wish);
  for (int i = 1; name.empty() || !taken_.insert(name).second; ++i) {
    name = absl::StrCat(wish, "_", i);
  }
  return name;
}

const std::string& Exporter::NameOf(const Value& value) {
  auto it = names_.find(value);
  if (it != names_.end()) return it->second;
  absl::string_view label = graph_.LabelOf(value);
  if (label.empty() && value.node().kind() == Node::Kind::kWeight) label = value.node().name();
  return names_.emplace(value, Fresh(label.empty() ? "v" : label)).first->second;
}

void Exporter::AddTensor(const std::string& name, const Tensor& tensor, bool is_weight) {
  onnx::TensorProto* proto = model_.mutable_graph()->add_initializer();
  proto->set_name(name);
  if (is_weight != IsTrained(tensor))
    proto->set_doc_string(is_weight ? kWeightMark : kConstantMark);
  proto->set_data_type(ToOnnxType(tensor.dtype()));
  for (int64_t d : tensor.shape()) proto->add_dims(d);
  tensors_.emplace_back(proto, tensor);
  tensor_bytes_ += tensor.type().num_bytes();
}

void Exporter::SetHeader() {
  const OnnxInfo& info = options_.info;
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("lemma");
  if (!info.domain.empty()) model_.set_domain(info.domain);
  if (!info.doc_string.empty()) model_.set_doc_string(info.doc_string);
  if (info.model_version != 0) model_.set_model_version(info.model_version);
  for (const auto& [key, value] : info.metadata) {
    auto* entry = model_.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  model_.mutable_graph()->set_name(graph_.name().empty() ? "main" : graph_.name());
}

// Inputs and computed outputs keep their names; other values get names that differ from them.
void Exporter::NameValues() {
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    names_[graph_.inputs()[i]] = graph_.input_names()[i];
    taken_.insert(graph_.input_names()[i]);
  }
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const std::string& name = graph_.output_names()[i];
    if (!taken_.insert(name).second) continue;  // an input with its own name
    const Value& value = graph_.outputs()[i];
    if (value.node().is_op()) names_.emplace(value, name);
  }
}

void Exporter::AddInputs() {
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    SetType(graph_.input_names()[i], graph_.inputs()[i].type(),
            model_.mutable_graph()->add_input());
    auto value = options_.info.defaults.find(graph_.input_names()[i]);
    if (value == options_.info.defaults.end()) continue;
    AddTensor(value->first, value->second, IsTrained(value->second));
  }
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
        SetType(name, value.type(), model_.mutable_graph()->add_input());
      }
      return absl::OkStatus();
    }
    case Node::Kind::kOp:
      break;
  }
  if (node->IsOp("opaque")) return AddOpaque(node);
  const OpDef& op = node->op();
  if (!op.onnx_export) {
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", op.name, " (ONNX has no such operator)"));
  }
  NodeExport form(this, node);
  auto status = op.onnx_export(form);
  if (status.ok() && !form.lost().empty()) {
    status = absl::UnimplementedError(absl::StrCat("unsupported: ", form.lost()));
  }
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("'", NameOf(Value(node, 0)), "' (", op.name,
                                                  "): ", status.message()));
}

absl::Status Exporter::CheckOpset(const onnx::NodeProto& node,
                                  const std::map<std::string, int>& opsets) {
  auto it = opsets.find(node.domain() == "ai.onnx" ? "" : node.domain());
  const int opset = it == opsets.end() ? kExportOpset : it->second;
  if (!node.domain().empty() && node.domain() != "ai.onnx") {
    auto [entry, is_new] = opsets_.emplace(node.domain(), opset);
    if (entry->second == opset) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat("unsupported: ", node.op_type(),
                                                 " (two versions of domain ", node.domain(), ")"));
  }
  int change = opset > kExportOpset ? opset : OpsetOfChange(node.op_type(), opset, kExportOpset);
  if (change != 0) {
    return absl::UnimplementedError(
        absl::StrCat("unsupported: ", node.op_type(), " (kept from operator set ", opset,
                     ", may mean something else in ", kExportOpset, ")"));
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
  for (int i = 0; i < node->num_outputs(); ++i) outputs.push_back(NameOf(Value(node, i)));
  auto unpacked = UnpackOpaque(node->String("payload"), inputs, outputs,
                               [&](const std::string& name) { return Fresh(name); });
  if (!unpacked.ok()) return unpacked.status();
  if (auto status = CheckOpset(unpacked->node, unpacked->opsets); !status.ok()) return status;
  for (const onnx::FunctionProto& function : unpacked->functions) {
    if (auto status = AddFunction(function); !status.ok()) return status;
  }
  onnx::NodeProto* proto = model_.mutable_graph()->add_node();
  *proto = std::move(unpacked->node);
  if (!outputs.empty()) proto->set_name(absl::StrCat(proto->op_type(), "/", outputs[0]));
  // Nothing else determines their types.
  const std::vector<std::string>& named = graph_.output_names();
  for (int i = 0; i < node->num_outputs(); ++i) {
    if (std::find(named.begin(), named.end(), outputs[i]) != named.end()) continue;
    SetType(outputs[i], node->type(i), model_.mutable_graph()->add_value_info());
  }
  return absl::OkStatus();
}

void Exporter::AddOutputs() {
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const Value& value = graph_.outputs()[i];
    const std::string& name = graph_.output_names()[i];
    const std::string& source = NameOf(value);
    if (source != name) {
      onnx::NodeProto* proto = model_.mutable_graph()->add_node();
      proto->set_op_type("Identity");
      proto->set_name(absl::StrCat("Identity/", name));
      proto->add_input(source);
      proto->add_output(name);
    }
    SetType(name, value.type(), model_.mutable_graph()->add_output());
  }
}

absl::Status Exporter::Run() {
  SetHeader();
  NameValues();
  AddInputs();
  for (const NodePtr& node : graph_.nodes()) {
    if (auto status = AddNode(node); !status.ok()) return status;
  }
  AddOutputs();
  for (const auto& [domain, version] : opsets_) {
    auto* entry = model_.add_opset_import();
    entry->set_domain(domain);
    entry->set_version(version);
  }
  return absl::OkStatus();
}

void PutInline(const Exporter& exporter) {
  for (const auto& [proto, tensor] : exporter.tensors()) {
    proto->set_raw_data(tensor.raw(), static_cast<size_t>(tensor.type().num_bytes()));
  }
}

// Places tensors one after another, each at a multiple of 64 bytes.
std::vector<absl::string_view> PutBeside(const Exporter& exporter, const std::string& file) {
  static const char kPadding[64] = {};
  std::vector<absl::string_view> pieces;
  int64_t offset = 0;
  for (const auto& [proto, tensor] : exporter.tensors()) {
    const int64_t bytes = tensor.type().num_bytes();
    proto->set_data_location(onnx::TensorProto::EXTERNAL);
    const std::pair<const char*, std::string> entries[] = {
        {"location", file}, {"offset", absl::StrCat(offset)}, {"length", absl::StrCat(bytes)}};
    for (const auto& [key, value] : entries) {
      auto* entry = proto->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    const int64_t padding = (64 - bytes % 64) % 64;
    pieces.emplace_back(static_cast<const char*>(tensor.raw()), static_cast<size_t>(bytes));
    pieces.emplace_back(kPadding, static_cast<size_t>(padding));
    offset += bytes + padding;
  }
  return pieces;
}

}  // namespace

absl::StatusOr<std::string> ExportOnnx(const Graph& graph, const ExportOptions& options) {
  Exporter exporter(graph, options);
  if (auto status = exporter.Run(); !status.ok()) return status;
  if (exporter.tensor_bytes() > options.max_inline_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights of ", exporter.tensor_bytes(), " bytes need a file of their own"));
  }
  PutInline(exporter);
  return exporter.model().SerializeAsString();
}

absl::StatusOr<std::vector<StagedFile>> StageOnnx(const Graph& graph, const std::string& path,
                                                  const ExportOptions& options) {
  Exporter exporter(graph, options);
  if (auto status = exporter.Run(); !status.ok()) return status;
  std::vector<StagedFile> files;
  auto stage = [&](const std::string& file, const std::vector<absl::string_view>& pieces) {
    auto staged = StagedFile::Write(file, pieces);
    if (staged.ok()) files.push_back(*std::move(staged));
    return staged.status();
  };
  absl::Status status;
  if (exporter.tensor_bytes() <= options.max_inline_bytes) {
    PutInline(exporter);
  } else {
    const std::string data_path = path + ".data";
    status =
        stage(data_path, PutBeside(exporter, std::filesystem::path(data_path).filename().string()));
  }
  if (status.ok()) status = stage(path, {exporter.model().SerializeAsString()});
  if (!status.ok()) return status;
  return files;
}

absl::Status WriteOnnx(const Graph& graph, const std::string& path, const ExportOptions& options) {
  auto files = StageOnnx(graph, path, options);
  return files.ok() ? CommitAll(*std::move(files)) : files.status();
}

}  // namespace lemma
