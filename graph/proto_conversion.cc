#include "graph/proto_conversion.h"

#include <cstring>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "graph/dtypes/packed_values.h"
#include "graph/graph.pb.h"
#include "graph/op_table.h"

namespace lemma {
namespace {

constexpr char kMagic[] = "lemma.graph";
constexpr int kVersion = 1;

void WriteType(const TensorType& type, proto::Type* out) {
  out->set_dtype(std::string(Name(type.dtype)));
  for (int64_t dim : type.shape) out->add_dims(dim);
}

void WriteAttr(const std::string& name, const AttrValue& value, proto::Attr* out) {
  out->set_name(name);
  if (auto* i = std::get_if<int64_t>(&value)) out->set_integer(*i);
  if (auto* d = std::get_if<double>(&value)) out->set_real(*d);
  if (auto* s = std::get_if<std::string>(&value)) out->set_text(*s);
  if (auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    auto* list = out->mutable_integers();
    for (int64_t i : *ints) list->add_values(i);
  }
  if (auto* reals = std::get_if<std::vector<double>>(&value)) {
    auto* list = out->mutable_reals();
    for (double d : *reals) list->add_values(d);
  }
}

absl::string_view BytesOf(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.type().num_bytes())};
}

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  absl::StatusOr<std::string> Run() {
    // Protobuf counts sizes in 31 bits, and its message on overflow is not helpful.
    int64_t payload = 0;
    for (const NodePtr& node : graph_.nodes()) {
      if (node->has_payload()) payload += node->payload().type().num_bytes();
    }
    if (payload >= std::numeric_limits<int32_t>::max()) return TooLarge();
    out_.set_magic(kMagic);
    out_.set_version(kVersion);
    out_.set_name(graph_.name());
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      proto::Input* input = out_.add_inputs();
      input->set_name(graph_.input_names()[i]);
      WriteType(graph_.inputs()[i].type(), input->mutable_type());
    }
    for (const NodePtr& node : graph_.nodes()) WriteNode(node);
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      proto::Output* output = out_.add_outputs();
      output->set_name(graph_.output_names()[i]);
      WriteValue(graph_.outputs()[i], output->mutable_value());
    }
    std::string bytes;
    if (!out_.SerializeToString(&bytes)) return TooLarge();
    return bytes;
  }

 private:
  static absl::Status TooLarge() {
    return absl::InvalidArgumentError(
        "the graph is larger than the 2 GiB that protobuf allows; write ONNX with external data");
  }

  void WriteValue(const Value& value, proto::Value* out) const {
    out->set_node(numbers_.at(&value.node()));
    out->set_output(static_cast<uint32_t>(value.output()));
  }

  void WriteNode(const NodePtr& node) {
    numbers_.emplace(node.get(), static_cast<uint32_t>(numbers_.size()));
    proto::Node* out = out_.add_nodes();
    switch (node->kind()) {
      case Node::Kind::kInput:
        out->set_input(static_cast<uint32_t>(node->input_index()));
        break;
      case Node::Kind::kWeight:
        out->mutable_weight()->set_name(node->name());
        if (node->has_payload()) {
          out->mutable_weight()->set_known(true);
          out->mutable_weight()->set_values(std::string(BytesOf(node->payload())));
        }
        break;
      case Node::Kind::kConstant:
        out->set_constant(std::string(BytesOf(node->payload())));
        break;
      case Node::Kind::kOp:
        out->mutable_op()->set_name(node->op().name);
        for (const Value& v : node->inputs()) WriteValue(v, out->mutable_op()->add_inputs());
        for (const auto& [name, value] : node->attrs()) {
          WriteAttr(name, value, out->mutable_op()->add_attrs());
        }
        break;
    }
    bool labeled = false;
    for (int i = 0; i < node->num_outputs(); ++i) {
      WriteType(node->type(i), out->add_types());
      labeled = labeled || !graph_.LabelOf(Value(node, i)).empty();
    }
    if (!labeled) return;
    for (int i = 0; i < node->num_outputs(); ++i) {
      out->add_labels(std::string(graph_.LabelOf(Value(node, i))));
    }
  }

  const Graph& graph_;
  proto::Graph out_;
  absl::flat_hash_map<const Node*, uint32_t> numbers_;
};

absl::StatusOr<TensorType> ReadType(const proto::Type& type) {
  TensorType result;
  auto dtype = ParseDType(type.dtype());
  if (!dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("no element type ", ToString(AttrValue(type.dtype()))));
  }
  result.dtype = *dtype;
  for (int64_t dim : type.dims()) {
    if (dim < 0) return absl::InvalidArgumentError("a size is negative");
    result.shape.push_back(dim);
  }
  return result;
}

absl::StatusOr<Tensor> ReadTensor(const TensorType& type, const std::string& bytes) {
  if (type.num_bytes() != static_cast<int64_t>(bytes.size())) {
    return absl::InvalidArgumentError(absl::StrCat(type.ToString(), " takes ", type.num_bytes(),
                                                   " bytes, ", bytes.size(), " are there"));
  }
  LEMMA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type));
  if (!bytes.empty()) std::memcpy(tensor.mutable_raw(), bytes.data(), bytes.size());
  if (!HoldsValues(tensor)) {
    return absl::InvalidArgumentError(absl::StrCat("a byte is no value of ", Name(type.dtype)));
  }
  return tensor;
}

absl::StatusOr<Attrs> ReadAttrs(const proto::Op& op) {
  Attrs attrs;
  for (const proto::Attr& attr : op.attrs()) {
    AttrValue value;
    switch (attr.value_case()) {
      case proto::Attr::kInteger:
        value = attr.integer();
        break;
      case proto::Attr::kReal:
        value = attr.real();
        break;
      case proto::Attr::kText:
        value = attr.text();
        break;
      case proto::Attr::kIntegers:
        value =
            std::vector<int64_t>(attr.integers().values().begin(), attr.integers().values().end());
        break;
      case proto::Attr::kReals:
        value = std::vector<double>(attr.reals().values().begin(), attr.reals().values().end());
        break;
      case proto::Attr::VALUE_NOT_SET:
        return absl::InvalidArgumentError(
            absl::StrCat("attribute ", absl::CEscape(attr.name()), " has no value"));
    }
    if (!attrs.emplace(attr.name(), std::move(value)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute ", absl::CEscape(attr.name()), " is there twice"));
    }
  }
  return attrs;
}

class Reader {
 public:
  explicit Reader(const proto::Graph& graph) : graph_(graph), builder_(graph.name()) {}

  absl::StatusOr<Graph> Run() {
    for (const proto::Input& input : graph_.inputs()) {
      LEMMA_ASSIGN_OR_RETURN(TensorType type, ReadType(input.type()));
      inputs_.push_back(builder_.Input(input.name(), std::move(type)));
    }
    for (const proto::Node& node : graph_.nodes()) {
      absl::Status status = ReadNode(node);
      if (status.ok()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "node ", nodes_.size(), node.has_op() ? " (" + absl::CEscape(node.op().name()) + ")" : "",
          ": ", status.message()));
    }
    for (const proto::Output& output : graph_.outputs()) {
      LEMMA_ASSIGN_OR_RETURN(Value value, Find(output.value()));
      builder_.Output(output.name(), std::move(value));
    }
    return std::move(builder_).Build();
  }

 private:
  absl::StatusOr<Value> Find(const proto::Value& value) const {
    if (value.node() >= nodes_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("refers to node ", value.node(), ", which does not come before it"));
    }
    const std::vector<Value>& outputs = nodes_[value.node()];
    if (value.output() >= outputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat("refers to output ", value.output(),
                                                     " of node ", value.node(), ", which has ",
                                                     outputs.size()));
    }
    return outputs[value.output()];
  }

  absl::Status ReadNode(const proto::Node& node) {
    std::vector<TensorType> types;
    for (const proto::Type& type : node.types()) {
      LEMMA_ASSIGN_OR_RETURN(TensorType read, ReadType(type));
      types.push_back(std::move(read));
    }
    if (!node.has_op() && types.size() != 1) {
      return absl::InvalidArgumentError("needs one type");
    }
    LEMMA_ASSIGN_OR_RETURN(std::vector<Value> outputs, ReadOutputs(node, types));
    if (outputs.size() != types.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", outputs.size(), " outputs, ", types.size(), " types are there"));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].type() != types[i]) {
        return absl::InvalidArgumentError(absl::StrCat(
            "output ", i, " is ", outputs[i].type().ToString(), ", not ", types[i].ToString()));
      }
    }
    if (node.labels_size() != 0 && node.labels_size() != static_cast<int>(outputs.size())) {
      return absl::InvalidArgumentError("needs a label for each output, or none");
    }
    for (int i = 0; i < node.labels_size(); ++i) {
      if (!node.labels(i).empty()) builder_.Label(outputs[i], node.labels(i));
    }
    nodes_.push_back(std::move(outputs));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Value>> ReadOutputs(const proto::Node& node,
                                                 const std::vector<TensorType>& types) {
    switch (node.kind_case()) {
      case proto::Node::kInput:
        if (node.input() >= inputs_.size()) {
          return absl::InvalidArgumentError(absl::StrCat("there is no input ", node.input()));
        }
        return std::vector<Value>{inputs_[node.input()]};
      case proto::Node::kWeight: {
        const proto::Weight& weight = node.weight();
        if (!weight.known()) {
          return std::vector<Value>{builder_.Weight(weight.name(), types[0])};
        }
        LEMMA_ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(types[0], weight.values()));
        return std::vector<Value>{builder_.Weight(weight.name(), std::move(tensor))};
      }
      case proto::Node::kConstant: {
        LEMMA_ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(types[0], node.constant()));
        return std::vector<Value>{builder_.Constant(std::move(tensor))};
      }
      case proto::Node::kOp:
        return ReadOp(node.op(), types);
      case proto::Node::KIND_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError("is neither input, weight, constant nor operator");
  }

  absl::StatusOr<std::vector<Value>> ReadOp(const proto::Op& op,
                                            const std::vector<TensorType>& types) const {
    const OpDef* def = FindOp(op.name());
    if (def == nullptr) return absl::InvalidArgumentError("there is no such operator");
    std::vector<Value> inputs;
    for (const proto::Value& input : op.inputs()) {
      LEMMA_ASSIGN_OR_RETURN(Value value, Find(input));
      inputs.push_back(std::move(value));
    }
    LEMMA_ASSIGN_OR_RETURN(Attrs attrs, ReadAttrs(op));
    if (def == FindOp("opaque")) return ApplyOpaque(std::move(inputs), std::move(attrs), types);
    return ApplyOp(def->name, std::move(inputs), std::move(attrs));
  }

  const proto::Graph& graph_;
  GraphBuilder builder_;
  std::vector<Value> inputs_;
  std::vector<std::vector<Value>> nodes_;
};

}  // namespace

bool IsGraphProto(absl::string_view bytes) {
  // Field 1, length-delimited, then its length and content.
  return absl::StartsWith(bytes, absl::StrCat("\x0a\x0b", kMagic));
}

absl::StatusOr<std::string> SerializeGraph(const Graph& graph) { return Writer(graph).Run(); }

absl::StatusOr<Graph> DeserializeGraph(absl::string_view bytes, absl::string_view file) {
  auto error = [&](absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", message));
  };
  if (!IsGraphProto(bytes)) return error("not a graph in lemma's protobuf form");
  proto::Graph graph;
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()) ||
      !graph.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return error("the protobuf is damaged or cut off");
  }
  if (graph.version() != kVersion) {
    return error(absl::StrCat("format version ", graph.version(), ", this program reads version ",
                              kVersion));
  }
  auto result = Reader(graph).Run();
  if (!result.ok()) return error(result.status().message());
  return result;
}

}  // namespace lemma
