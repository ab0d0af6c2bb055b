// Writes a graph as an ONNX model of a given operator set. One Exporter makes one attempt. The
// caller makes another Exporter if the model needs a later operator set, or if nodes of the
// imported model cannot be kept. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_EXPORT_EXPORTER_H_
#define LEMMA_GRAPH_ONNX_EXPORT_EXPORTER_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/onnx/export.h"
#include "graph/onnx/export/branches.h"
#include "graph/onnx/export/size_export.h"
#include "graph/onnx/opaque.h"
#include "graph/onnx/opsets/version_converter.h"
#include "graph/onnx/origin/plan.h"
#include "graph/onnx_conversion.h"

namespace lemma {

class Exporter {
 public:
  // `opset`: the operator set of the default domain. `keeps_nodes`: whether nodes of the imported
  // model are written as they were, where they still compute values of the graph. `graph` and
  // `options` must outlive the exporter.
  Exporter(const Graph& graph, const ExportOptions& options, int opset, bool keeps_nodes);

  // Writes the model; to be called once. Unimplemented if an operator has no form in ONNX.
  absl::Status Run();

  // After Run: the operator set that the model needs, and the reason. If the set is above `opset`,
  // the model is not valid: the caller makes another exporter with that set.
  int needed_opset() const { return needed_opset_; }
  const std::string& reason() const { return reason_; }
  // After Run: false if the nodes have no topological order, because a kept node would depend on
  // its own result. Then the caller makes another exporter with `keeps_nodes` = false.
  bool is_ordered() const { return is_ordered_; }

  onnx::ModelProto& model() { return model_; }
  // The values that initializers of model() leave out, to be written inline or to a file.
  const std::vector<std::pair<onnx::TensorProto*, Tensor>>& tensors() const { return tensors_; }
  int64_t tensor_bytes() const { return tensor_bytes_; }

 private:
  friend class NodeExport;

  struct Initializer {
    onnx::TensorProto proto;  // without the values
    Tensor tensor;
    int rank = 0;  // the sort key: the imported model's initializers come first, in their order
    bool only_if_read = false;
  };

  // exporter.cc
  void SetHeader();
  void SetMetadata(const std::map<std::string, std::string>& entries);
  void PlanNames();
  void AddInputs();
  absl::Status AddOutputs();
  void AddInitializers();
  void AddValueInfos();
  void AddFunctions();
  void AddOpsets();
  void DropLostReferences();
  absl::Status OrderNodes();
  void SetPort(const std::string& name, const TensorType& type, onnx::ValueInfoProto* port) const;
  const onnx::TensorProto* KnownInitializer(const std::string& name) const;
  void AddTensor(const std::string& name, const Tensor& tensor, bool is_weight,
                 bool only_if_read = false);
  // The name of a constant with these values or, if they are symbolic sizes, of a vector that new
  // nodes compute.
  std::string AddConstant(Tensor tensor);
  std::string AddSizes(const Tensor& tensor);

  // export_names.cc
  void NameOutputs();
  void NameAfterUsers();
  std::string Fresh(absl::string_view wish);
  const std::string& NameOf(const Value& value);
  // A name for a constant that was computed from weights: their names, as recorded in
  // OnnxChange::folded; "" if nothing is recorded for the constant.
  std::string NameOfFolded(const Value& value) const;
  std::string OutputName(const Value& value);
  // A new node's unique name: NODE/RULE, NODE/RULE/OP_TYPE or NODE/OP_TYPE. NODE is the name of the
  // node that made the value in the imported model or, without such a node, the value's name; RULE
  // is the name of the rule that replaced the value. If the graph was not imported: OP_TYPE/OUTPUT.
  std::string NodeName(const std::string& op_type, const std::string& output);

  // export_nodes.cc
  absl::Status AddNode(const NodePtr& node);
  void AddKept(const OriginNode& origin, const KeptNode& kept);
  bool IsUsable(const OriginNode& origin) const;
  absl::Status AddOpaque(const NodePtr& node);
  // Whether the operator `where` at this node is written as an If.
  bool IsBranch(const Node& node) const;
  void AddIf(const NodePtr& node);
  absl::Status AddFunction(const onnx::FunctionProto& function);
  absl::Status CheckOpset(const onnx::NodeProto& node, const std::map<std::string, int>& opsets);
  void Need(int opset, std::string reason);
  // Adds a node that is given in operator set kExportOpset, converted to opset_.
  absl::Status AddForm(onnx::NodeProto node);
  // Adds `proto`, which is the form of `node` in a domain other than ONNX's default domain.
  absl::Status AddOfDomain(onnx::NodeProto proto, const Node& node);
  absl::Status AddOwnFunction(const onnx::NodeProto& call);
  ConversionContext MakeContext();

  const Graph& graph_;
  const ExportOptions& options_;
  const OnnxOrigin* const origin_;  // nullptr if the graph was not imported
  const int opset_;
  const bool keeps_nodes_;
  OriginPlan plan_;
  onnx::ModelProto model_;
  int needed_opset_;
  std::string reason_;
  bool is_ordered_ = true;
  bool has_ifs_ = false;  // whether the imported model has an If
  IfNames ifs_;           // the If nodes that may be joined (branches.h)

  absl::flat_hash_set<std::string> taken_, node_names_;
  // By the name of an intermediate value: the name of the value that it helps to compute.
  absl::flat_hash_map<std::string, std::string> made_for_;
  // By the name of a value of the imported model: the name of the node that makes it.
  absl::flat_hash_map<std::string, std::string> sources_;
  absl::flat_hash_map<Value, std::string> names_;
  absl::flat_hash_map<Value, std::string> repeated_;    // second names of values computed twice
  absl::flat_hash_map<std::string, TensorType> types_;  // by name
  ElementTypes element_types_;
  absl::flat_hash_map<uint64_t, std::vector<std::pair<Tensor, std::string>>> constants_;
  absl::flat_hash_map<std::string, Tensor> constant_values_;
  absl::flat_hash_map<std::string, int> known_initializers_;  // positions in the origin's model
  std::unique_ptr<SizeExport> size_export_;
  absl::Status sizes_status_;
  std::map<std::string, int> opsets_;
  FunctionMap functions_;  // the origin's
  std::vector<Initializer> initializers_;
  std::vector<std::pair<onnx::TensorProto*, Tensor>> tensors_;
  int64_t tensor_bytes_ = 0;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_EXPORT_EXPORTER_H_
