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

  // A name that nothing has: `base`, or with a number.
  std::string NewName(const std::string& base);
  // An initializer; returns its name.
  std::string AddConstant(const std::string& base, const Tensor& tensor);

  int size() const { return static_cast<int>(nodes_.size()); }  // of the original graph
  // The node at this position of the original graph.
  onnx::NodeProto& node(int position) { return nodes_[static_cast<size_t>(position)]; }
  void Remove(int position) { removed_.insert(position); }
  size_t removed() const { return removed_.size(); }
  // The position of the node that now makes the value; -1: none does.
  int MakerOf(const std::string& value) const;
  // Lets the node make `to` in place of its output `from`.
  void RenameOutput(int position, const std::string& from, const std::string& to);

  // New nodes with one output each. They stand directly before or after the node; at position -1,
  // before all nodes. In the order of the calls.
  // The pointers are valid until the next call.
  onnx::NodeProto* AddBefore(int position, const std::string& type,
                             const std::vector<std::string>& inputs, const std::string& output);
  onnx::NodeProto* AddAfter(int position, const std::string& type,
                            const std::vector<std::string>& inputs, const std::string& output);

  // Constants of these names, and the nodes that make them, disappear if nothing reads them.
  void DropIfUnread(const std::set<std::string>& constants) {
    dropped_.insert(constants.begin(), constants.end());
  }

  // Raises the operator set of ONNX to `opset` at least. InvalidArgument, with `why` it is needed,
  // if an operator of the model means something else there and cannot be rewritten. To be called
  // before any other change.
  absl::Status RaiseOpset(int opset, const std::string& why, std::vector<std::string>* notes);
  void NeedDomain(const std::string& domain);

  onnx::ModelProto Finish(std::vector<std::string>* notes);

 private:
  onnx::NodeProto MakeNode(const std::string& type, const std::vector<std::string>& inputs,
                           const std::string& output);
  void AssembleNodes();
  void RemoveUnread();
  std::set<std::string> ReadNames() const;  // by nodes, their subgraphs, and as outputs

  const ModelIndex& index_;
  onnx::ModelProto model_;         // its nodes are in nodes_ until Finish
  int64_t needed_ir_version_ = 0;  // by a raised operator set
  std::vector<onnx::NodeProto> nodes_;
  std::map<int, std::vector<onnx::NodeProto>> before_, after_;
  std::map<std::string, int> makers_;  // of renamed outputs
  std::set<int> removed_;
  std::set<std::string> names_, dropped_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_MODEL_EDITOR_H_
