#include "graph/onnx/export/exporter.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "graph/dtypes/packed_values.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/functions/own_functions.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/node_order.h"

namespace lemma {
namespace {

// The IR version with which an operator set was published; 8 is older than our first export.
int IrVersionFor(int opset) {
  if (opset <= 18) return 8;
  if (opset <= 20) return 9;
  if (opset <= 22) return 10;
  return opset <= 24 ? opset - 12 : 13;
}

// From this IR version on, a model names its operator sets; before it, the set is 1.
constexpr int kNamedOpsets = 3;
// From this IR version on, initializers need not be inputs.
constexpr int kFreeInitializers = 4;

void CollectNames(const onnx::GraphProto& graph, absl::flat_hash_set<std::string>* names) {
  for (const auto& input : graph.input()) names->insert(input.name());
  for (const auto& tensor : graph.initializer()) names->insert(tensor.name());
  for (const auto& node : graph.node()) {
    names->insert(node.input().begin(), node.input().end());
    names->insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) CollectNames(attribute.g(), names);
      for (const auto& inner : attribute.graphs()) CollectNames(inner, names);
    }
  }
}

bool Says(const onnx::TypeProto& declared, const TensorType& type) {
  const auto& tensor = declared.tensor_type();
  if (!declared.has_tensor_type() || tensor.elem_type() != ToOnnxType(type.dtype) ||
      !tensor.has_shape() || tensor.shape().dim_size() != type.rank()) {
    return false;
  }
  for (int i = 0; i < type.rank(); ++i) {
    const auto& dim = tensor.shape().dim(i);
    const bool same = IsSymbolic(type.shape[i])
                          ? !dim.has_dim_value()
                          : dim.has_dim_value() && dim.dim_value() == type.shape[i];
    if (!same) return false;
  }
  return true;
}

}  // namespace

Exporter::Exporter(const Graph& graph, const ExportOptions& options, int opset, bool keeps_nodes)
    : graph_(graph),
      options_(options),
      origin_(options.info.origin.get()),
      opset_(opset),
      keeps_nodes_(keeps_nodes && origin_ != nullptr),
      needed_opset_(opset) {
  if (origin_ == nullptr) return;
  opsets_ = origin_->opsets;
  for (const auto& function : origin_->model.functions()) {
    functions_[absl::StrCat(NormalDomain(function.domain()), ":", function.name())] = &function;
  }
  for (const auto& node : origin_->model.graph().node()) {
    VisitSubnodes(node, [&](const auto& inner) { has_ifs_ |= inner.op_type() == "If"; });
    node_names_.insert(node.name());
    if (node.name().empty()) continue;
    for (const std::string& output : node.output()) sources_[output] = node.name();
  }
  const auto& initializers = origin_->model.graph().initializer();
  for (int i = 0; i < initializers.size(); ++i) known_initializers_[initializers[i].name()] = i;
}

const onnx::TensorProto* Exporter::KnownInitializer(const std::string& name) const {
  auto known = known_initializers_.find(name);
  if (known == known_initializers_.end()) return nullptr;
  return &origin_->model.graph().initializer(known->second);
}

void Exporter::AddTensor(const std::string& name, const Tensor& tensor, bool is_weight,
                         bool only_if_read) {
  Initializer added;
  added.tensor = tensor;
  added.only_if_read = only_if_read;
  added.rank = static_cast<int>(known_initializers_.size());
  const onnx::TensorProto* known = KnownInitializer(name);
  if (known != nullptr && plan_.named.count(name) != 0) {
    added.proto = *known;
    added.rank = known_initializers_.at(name);
  } else if (is_weight != IsTrained(tensor)) {
    added.proto.set_doc_string(is_weight ? kWeightMark : kConstantMark);
  }
  added.proto.set_name(name);
  added.proto.set_data_type(ToOnnxType(tensor.dtype()));
  added.proto.clear_dims();
  for (int64_t d : tensor.shape()) added.proto.add_dims(d);
  types_[name] = tensor.type();
  element_types_[name] = ToOnnxType(tensor.dtype());
  if (tensor.type().num_elements() <= kMaxFoldElements) constant_values_[name] = tensor;
  initializers_.push_back(std::move(added));
}

std::string Exporter::AddSizes(const Tensor& tensor) {
  if (size_export_ == nullptr) {
    size_export_ = std::make_unique<SizeExport>(
        graph_,
        [this](absl::string_view op_type, std::vector<std::string> inputs,
               std::map<std::string, int64_t> attrs) {
          onnx::NodeProto node;
          node.set_op_type(std::string(op_type));
          for (std::string& input : inputs) node.add_input(std::move(input));
          node.add_output(Fresh("size"));
          const std::string name = node.output(0);
          node.set_name(NodeName(node.op_type(), name));
          for (const auto& [key, value] : attrs) {
            auto* attribute = node.add_attribute();
            attribute->set_name(key);
            attribute->set_type(onnx::AttributeProto::INT);
            attribute->set_i(value);
          }
          element_types_[name] = onnx::TensorProto::INT64;
          auto status = AddForm(std::move(node));
          if (sizes_status_.ok()) sizes_status_ = status;
          return name;
        },
        [this](const std::vector<int64_t>& elements) {
          return AddConstant(Tensor::Ints(elements));
        },
        [this](const Value& value) { return NameOf(value); });
  }
  if (tensor.type().rank() != 1 && sizes_status_.ok()) {
    sizes_status_ = absl::InternalError("symbolic sizes that are no vector");
  }
  return size_export_->Vector(tensor.ToInts());
}

std::string Exporter::AddConstant(Tensor tensor) {
  if (tensor.dtype() == DType::kI64 && IsSymbolic(tensor.data<int64_t>())) return AddSizes(tensor);
  auto& same_hash = constants_[tensor.ContentHash()];
  for (const auto& [known, name] : same_hash) {
    if (known.SameBytes(tensor)) return name;
  }
  std::string name = Fresh("constant");
  AddTensor(name, tensor, false, /*only_if_read=*/true);
  same_hash.emplace_back(std::move(tensor), name);
  return name;
}

// Replaces the entries with these keys, or adds them.
void Exporter::SetMetadata(const std::map<std::string, std::string>& entries) {
  for (const auto& [key, value] : entries) {
    onnx::StringStringEntryProto* entry = nullptr;
    for (auto& known : *model_.mutable_metadata_props()) {
      if (known.key() == key) entry = &known;
    }
    if (entry == nullptr) entry = model_.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
}

void Exporter::SetHeader() {
  const OnnxInfo& info = options_.info;
  if (origin_ != nullptr) {
    // All that the model says, unless it is about nodes and values.
    model_ = origin_->model;
    onnx::GraphProto* graph = model_.mutable_graph();
    graph->clear_node();
    graph->clear_initializer();
    graph->clear_input();
    graph->clear_output();
    graph->clear_value_info();
    model_.clear_functions();
    model_.clear_opset_import();
    SetMetadata(info.change.metadata);
    return;
  }
  model_.set_ir_version(IrVersionFor(opset_));
  model_.set_producer_name("lemma");
  if (!info.domain.empty()) model_.set_domain(info.domain);
  if (!info.doc_string.empty()) model_.set_doc_string(info.doc_string);
  if (info.model_version != 0) model_.set_model_version(info.model_version);
  for (const auto& [key, value] : info.metadata) {
    auto* entry = model_.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  SetMetadata(info.change.metadata);
  model_.mutable_graph()->set_name(graph_.name().empty() ? "main" : graph_.name());
}

// Decides which nodes are kept. Their values have names then.
void Exporter::PlanNames() {
  if (origin_ == nullptr) return;
  plan_ = PlanExport(graph_, *origin_,
                     [this](const OriginNode& node) { return keeps_nodes_ && IsUsable(node); });
  for (const auto& [value, name] : plan_.names) names_[value] = name;
  for (const auto& [value, name] : plan_.wished) {
    if (value.node().is_op()) names_[value] = name;
  }
  for (const auto& [name, value] : plan_.named) {
    taken_.insert(name);
    types_[name] = value.type();
  }
  for (const auto& [number, kept] : plan_.kept) {
    for (int position : origin_->nodes[number].nodes) {
      const onnx::NodeProto& node = origin_->model.graph().node(position);
      taken_.insert(node.output().begin(), node.output().end());
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) CollectNames(attribute.g(), &taken_);
        for (const auto& inner : attribute.graphs()) CollectNames(inner, &taken_);
      }
    }
  }
}

// What the model declares, with the type that the value has.
void Exporter::SetPort(const std::string& name, const TensorType& type,
                       onnx::ValueInfoProto* port) const {
  port->set_name(name);
  if (Says(port->type(), type)) return;
  auto* tensor = port->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(ToOnnxType(type.dtype));
  auto* shape = tensor->mutable_shape();  // also present for a scalar
  if (shape->dim_size() != type.rank()) shape->clear_dim();
  while (shape->dim_size() < type.rank()) shape->add_dim();
  for (int i = 0; i < type.rank(); ++i) {
    auto* dim = shape->mutable_dim(i);
    if (!IsSymbolic(type.shape[i])) {
      dim->set_dim_value(type.shape[i]);
    } else if (dim->dim_param().empty()) {
      dim->set_dim_param(SizeName(type.shape[i]));
    }
  }
}

void Exporter::AddInputs() {
  std::map<std::string, const onnx::ValueInfoProto*> known;
  if (origin_ != nullptr) {
    for (const auto& input : origin_->model.graph().input()) known[input.name()] = &input;
  }
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    const std::string& name = graph_.input_names()[i];
    auto* port = model_.mutable_graph()->add_input();
    if (auto it = known.find(name); it != known.end()) *port = *it->second;
    SetPort(name, graph_.inputs()[i].type(), port);
    element_types_[name] = ToOnnxType(graph_.inputs()[i].dtype());
    auto value = options_.info.defaults.find(name);
    if (value == options_.info.defaults.end()) continue;
    AddTensor(value->first, value->second, IsTrained(value->second));
    constant_values_.erase(value->first);
  }
}

absl::Status Exporter::AddOutputs() {
  std::map<std::string, const onnx::ValueInfoProto*> known;
  std::set<std::string> input_dims;
  if (origin_ != nullptr) {
    for (const auto& output : origin_->model.graph().output()) known[output.name()] = &output;
    for (const auto& input : origin_->model.graph().input()) {
      for (const auto& dim : input.type().tensor_type().shape().dim()) {
        input_dims.insert(dim.dim_param());
      }
    }
  }
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const Value& value = graph_.outputs()[i];
    const std::string& name = graph_.output_names()[i];
    auto named = plan_.named.find(name);
    const bool is_made = named != plan_.named.end() && named->second == value;
    if (!is_made && NameOf(value) != name) {
      onnx::NodeProto proto;
      proto.set_op_type("Identity");
      proto.set_name(absl::StrCat("Identity/", name));
      proto.add_input(NameOf(value));
      proto.add_output(name);
      if (absl::Status s = AddForm(std::move(proto)); !s.ok()) return s;
    }
    auto* port = model_.mutable_graph()->add_output();
    auto it = known.find(name);
    if (it != known.end()) *port = *it->second;
    SetPort(name, value.type(), port);
    if (it == known.end()) continue;
    // A name that no input has says nothing about the size, and readers of the file may ask for it.
    const auto& declared = it->second->type().tensor_type().shape();
    for (int d = 0; declared.dim_size() == value.type().rank() && d < declared.dim_size(); ++d) {
      const std::string& dim = declared.dim(d).dim_param();
      if (dim.empty() || input_dims.count(dim) > 0) continue;
      port->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(d)->set_dim_param(
          dim);
    }
  }
  return absl::OkStatus();
}

void Exporter::AddInitializers() {
  absl::flat_hash_set<std::string> read;
  for (const auto& node : model_.graph().node()) {
    for (std::string& name : NamesRead(node)) read.insert(std::move(name));
  }
  std::stable_sort(initializers_.begin(), initializers_.end(),
                   [](const auto& a, const auto& b) { return a.rank < b.rank; });
  for (Initializer& initializer : initializers_) {
    if (initializer.only_if_read && !read.contains(initializer.proto.name())) continue;
    onnx::TensorProto* proto = model_.mutable_graph()->add_initializer();
    *proto = std::move(initializer.proto);
    tensors_.emplace_back(proto, FileBytes(initializer.tensor));
    tensor_bytes_ += tensors_.back().second.type().num_bytes();
  }
  if (model_.ir_version() >= kFreeInitializers) return;
  // All of them are inputs, those of the model in its order.
  std::map<std::string, onnx::ValueInfoProto> inputs;
  for (auto& input : *model_.mutable_graph()->mutable_input()) inputs[input.name()].Swap(&input);
  std::vector<std::string> order;
  for (const auto& input : origin_->model.graph().input()) order.push_back(input.name());
  for (const auto& name : graph_.input_names()) order.push_back(name);
  std::map<std::string, const onnx::ValueInfoProto*> known;
  for (const auto& input : origin_->model.graph().input()) known[input.name()] = &input;
  for (const auto& [proto, tensor] : tensors_) {
    onnx::ValueInfoProto& port = inputs[proto->name()];
    if (auto it = known.find(proto->name()); it != known.end()) port = *it->second;
    SetPort(proto->name(), tensor.type(), &port);
    order.push_back(proto->name());
  }
  model_.mutable_graph()->clear_input();
  for (const std::string& name : order) {
    auto input = inputs.find(name);
    if (input == inputs.end()) continue;
    model_.mutable_graph()->add_input()->Swap(&input->second);
    inputs.erase(input);
  }
}

void Exporter::AddValueInfos() {
  if (origin_ == nullptr) return;
  onnx::GraphProto* graph = model_.mutable_graph();
  std::set<std::string> done;
  for (const auto& info : graph->value_info()) done.insert(info.name());
  absl::flat_hash_set<std::string> made;
  for (const auto& node : graph->node()) made.insert(node.output().begin(), node.output().end());
  for (const auto& initializer : graph->initializer()) made.insert(initializer.name());
  for (const auto& known : origin_->model.graph().value_info()) {
    if (!made.contains(known.name()) || !done.insert(known.name()).second) continue;
    auto* info = graph->add_value_info();
    *info = known;
    auto type = types_.find(known.name());
    if (type != types_.end()) SetPort(known.name(), type->second, info);
  }
}

// The model's functions that nodes still call, in their order.
void Exporter::AddFunctions() {
  if (origin_ == nullptr) return;
  std::set<const onnx::FunctionProto*> called;
  for (const auto& node : model_.graph().node()) {
    for (const onnx::FunctionProto* function : FunctionsCalled(node, functions_)) {
      called.insert(function);
    }
  }
  google::protobuf::RepeatedPtrField<onnx::FunctionProto> others;
  others.Swap(model_.mutable_functions());
  for (const auto& function : origin_->model.functions()) {
    if (called.count(&function) == 0) continue;
    *model_.add_functions() = IsOwnFunction(function)
                                  ? *OwnFunction(function.name(), std::max(opset_, kFunctionOpset))
                                  : function;
  }
  for (const auto& function : others) {
    auto known =
        functions_.find(absl::StrCat(NormalDomain(function.domain()), ":", function.name()));
    if (known == functions_.end() || called.count(known->second) == 0) {
      *model_.add_functions() = function;
    }
  }
}

// Those of the model, in its order, then those of new nodes.
void Exporter::AddOpsets() {
  const auto& nodes = model_.graph().node();
  const bool uses_default = std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return NormalDomain(node.domain()).empty();
  });
  if (uses_default || origin_ == nullptr || opsets_.count("") != 0) opsets_[""] = opset_;
  if (model_.ir_version() < kNamedOpsets) {
    if (opsets_ == std::map<std::string, int>{{"", 1}}) return;  // it cannot be said otherwise
    model_.set_ir_version(kNamedOpsets);
  }
  std::set<std::string> done;
  const onnx::ModelProto none;
  for (const auto& known : (origin_ == nullptr ? none : origin_->model).opset_import()) {
    auto* entry = model_.add_opset_import();
    *entry = known;
    entry->set_version(opsets_.at(NormalDomain(known.domain())));
    done.insert(NormalDomain(known.domain()));
  }
  for (const auto& [domain, version] : opsets_) {
    if (done.count(domain) != 0) continue;
    auto* entry = model_.add_opset_import();
    entry->set_domain(domain);
    entry->set_version(version);
  }
}

// Removes what the model says of values that there are no more.
void Exporter::DropLostReferences() {
  if (origin_ == nullptr) return;
  absl::flat_hash_set<std::string> names;
  CollectNames(model_.graph(), &names);
  auto* notes = model_.mutable_graph()->mutable_quantization_annotation();
  for (int i = notes->size() - 1; i >= 0; --i) {
    if (!names.contains(notes->Get(i).tensor_name())) notes->DeleteSubrange(i, 1);
  }
  absl::flat_hash_set<std::string> initializers;
  for (const auto& tensor : model_.graph().initializer()) initializers.insert(tensor.name());
  auto is_lost = [&](const auto& bindings) {
    return std::any_of(bindings.begin(), bindings.end(), [&](const auto& binding) {
      return KnownInitializer(binding.key()) != nullptr && !initializers.contains(binding.key());
    });
  };
  auto* trainings = model_.mutable_training_info();
  for (int i = trainings->size() - 1; i >= 0; --i) {
    if (is_lost(trainings->Get(i).initialization_binding()) ||
        is_lost(trainings->Get(i).update_binding())) {
      trainings->DeleteSubrange(i, 1);
    }
  }
}

// Kept nodes in their order, with the others where they are needed.
absl::Status Exporter::OrderNodes() {
  // The graph's order is that of operands, but sizes may be read from a node that comes later.
  if (origin_ == nullptr && size_export_ == nullptr) return absl::OkStatus();
  absl::flat_hash_set<std::string> given(graph_.input_names().begin(), graph_.input_names().end());
  for (const Initializer& initializer : initializers_) given.insert(initializer.proto.name());
  for (const auto& input : model_.graph().input()) given.insert(input.name());
  auto sort = [&](onnx::GraphProto* graph) {
    auto order = lemma::OrderNodes(
        graph->node(), [&](const std::string& name) { return given.contains(name); },
        graph_.output_names());
    if (!order.ok()) return order.status();
    NodeList nodes;
    nodes.Swap(graph->mutable_node());
    for (int i : order->nodes) graph->add_node()->Swap(&nodes[i]);
    return absl::OkStatus();
  };
  onnx::GraphProto* graph = model_.mutable_graph();
  const absl::Status sorted = sort(graph);
  is_ordered_ = sorted.ok();
  if (!is_ordered_) return keeps_nodes_ ? absl::OkStatus() : sorted;
  if (ifs_.empty()) return absl::OkStatus();
  onnx::GraphProto joined = *graph;
  JoinIfs(ifs_, &joined);
  if (sort(&joined).ok()) graph->Swap(&joined);  // joined nodes may depend on each other
  MoveIntoBranches(ifs_, graph);
  return absl::OkStatus();
}

absl::Status Exporter::Run() {
  SetHeader();
  PlanNames();
  NameOutputs();
  NameAfterUsers();
  AddInputs();
  for (const auto& [number, kept] : plan_.kept) AddKept(origin_->nodes[number], kept);
  std::vector<std::string> kept(plan_.initializers.begin(), plan_.initializers.end());
  std::sort(kept.begin(), kept.end());
  for (const std::string& name : kept) {
    const Node& node = plan_.named.at(name).node();
    AddTensor(name, node.payload(), node.kind() == Node::Kind::kWeight);
  }
  for (const Value& leaf : plan_.leaves) {
    if (auto status = AddNode(leaf.node_ptr()); !status.ok()) return status;
  }
  for (const NodePtr& node : graph_.nodes()) {
    if (origin_ != nullptr && !plan_.spelled.contains(node.get())) continue;
    if (auto status = AddNode(node); !status.ok()) return status;
  }
  if (absl::Status s = AddOutputs(); !s.ok()) return s;
  if (size_export_ != nullptr && sizes_status_.ok()) sizes_status_ = size_export_->status();
  if (!sizes_status_.ok()) return sizes_status_;
  if (auto status = OrderNodes(); !status.ok() || !is_ordered_) return status;
  AddInitializers();
  AddValueInfos();
  AddFunctions();
  DropLostReferences();
  AddOpsets();
  return absl::OkStatus();
}

}  // namespace lemma
