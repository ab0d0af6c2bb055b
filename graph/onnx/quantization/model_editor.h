// Edits a copy of a model: adds nodes around its nodes, and constants. Internal to
// graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_MODEL_EDITOR_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_MODEL_EDITOR_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/onnx/quantization/model_index.h"
#include "graph/tensor.h"

namespace lemma {

class ModelEditor {
 public:
  // `index` must outlive the editor.
  explicit ModelEditor(const ModelIndex& index);

  // An unused name: `base`, or `base` with a number. Later calls return other names.
  std::string NewName(const std::string& base);
  // Adds an initializer and returns its name, NewName(base).
  std::string AddConstant(const std::string& base, const Tensor& tensor);

  // The number of nodes of the original graph.
  int size() const { return static_cast<int>(nodes_.size()); }
  // The node at this position of the original graph.
  onnx::NodeProto& node(int position) { return nodes_[static_cast<size_t>(position)]; }
  void Remove(int position) { removed_.insert(position); }
  size_t removed() const { return removed_.size(); }  // how many nodes were removed
  // The position of the node of the original graph that makes the value; -1 if there is none. A
  // renamed output has this position under its old and its new name.
  int MakerOf(const std::string& value) const;
  // Renames the node's output `from` to `to`; nodes that read `from` are not changed.
  void RenameOutput(int position, const std::string& from, const std::string& to);

  // Adds a new node of ONNX's domain with one output, directly before or after the node at
  // `position` (in the original graph); several such nodes are in the order of the calls. AddAfter
  // also takes -1: before all nodes. The pointer is valid until the next call of either function.
  onnx::NodeProto* AddBefore(int position, const std::string& type,
                             const std::vector<std::string>& inputs, const std::string& output);
  onnx::NodeProto* AddAfter(int position, const std::string& type,
                            const std::vector<std::string>& inputs, const std::string& output);

  // Marks constants, by name: if nothing reads such a constant, Finish removes it, and the node
  // that makes it.
  void DropIfUnread(const std::set<std::string>& constants) {
    dropped_.insert(constants.begin(), constants.end());
  }

  // Raises the model's version of ONNX's operator set to `opset` if it is lower, and then adds a
  // line to `notes`. `why` is the subject of messages: "WHY need operator set 13". InvalidArgument
  // if an operator of the model has another meaning in the new set and cannot be rewritten, or if a
  // function of the model is of a set other than `opset`. Call this function before any other
  // change.
  absl::Status RaiseOpset(int opset, const std::string& why, std::vector<std::string>* notes);
  // Adds version 1 of the domain to the model's operator sets, unless they contain the domain.
  void NeedDomain(const std::string& domain);

  // Adds the function `name` of own_functions.h. The operator set must be kFunctionOpset or later.
  // InvalidArgument if the model has another function of this name. Adds a line to `notes` if the
  // IR version has to be raised.
  absl::Status NeedFunction(const std::string& name, std::vector<std::string>* notes);

  // The edited model; the editor must not be used afterwards. Adds a line to `notes` if the IR
  // version had to be raised to 4.
  onnx::ModelProto Finish(std::vector<std::string>* notes);

 private:
  onnx::NodeProto MakeNode(const std::string& type, const std::vector<std::string>& inputs,
                           const std::string& output);
  void AssembleNodes();
  void RemoveUnread();
  std::set<std::string> ReadNames() const;  // by nodes, their subgraphs, and as outputs

  const ModelIndex& index_;
  onnx::ModelProto model_;         // its nodes are in nodes_ until Finish
  int64_t needed_ir_version_ = 0;  // the one that a raised operator set or a function needs
  std::vector<onnx::NodeProto> nodes_;
  std::map<int, std::vector<onnx::NodeProto>> before_, after_;
  std::map<std::string, int> makers_;  // of renamed outputs
  std::set<int> removed_;
  std::set<std::string> names_, dropped_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_MODEL_EDITOR_H_
