// One ONNX node as the operators' importers (OnnxImporter) see it: the implementation of
// OnnxImport. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_IMPORTED_NODE_H_
#define LEMMA_GRAPH_ONNX_IMPORTED_NODE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/onnx/importer.h"
#include "graph/onnx_conversion.h"

namespace lemma {

class ImportedNode : public OnnxImport {
 public:
  // `used_outputs`: one more than the position of the last output that is read. An error if an
  // input is a list of tensors or an attribute is malformed. `importer` and `node` must outlive the
  // ImportedNode.
  static absl::StatusOr<std::unique_ptr<ImportedNode>> Make(ModelImporter* importer,
                                                            const onnx::NodeProto& node,
                                                            const Scope& scope, int used_outputs);

  absl::string_view op_type() const override { return node_.op_type(); }
  int opset() const override { return opset_; }
  int64_t channel_block() const override { return importer_->channel_block(); }
  int num_inputs() const override { return static_cast<int>(inputs_.size()); }
  int num_outputs() const override { return used_outputs_; }
  int num_named_outputs() const override { return node_.output_size(); }
  bool HasInput(int i) const override;
  absl::StatusOr<Value> Input(int i) override;
  absl::StatusOr<Tensor> ConstantInput(int i) override;
  absl::StatusOr<Tensor> OwnConstantInput(int i) override;
  bool IsAtLeast(int64_t size, int64_t least, ShorterMeans meaning) override;
  const OnnxAttr* FindAttr(absl::string_view name) const override;

  // Unimplemented if an input or attribute of the node was never read: the operator's importer may
  // then have missed a part of the node's meaning. To be called after the operator's importer.
  absl::Status CheckUnderstood() const;

 protected:
  absl::StatusOr<std::vector<Value>> Build(absl::string_view op, std::vector<Value> inputs,
                                           Attrs attrs) override;

 private:
  ImportedNode(ModelImporter* importer, const onnx::NodeProto& node, int opset, int used_outputs)
      : importer_(importer), node_(node), opset_(opset), used_outputs_(used_outputs) {}
  absl::Status AlignLegacyBroadcast();

  ModelImporter* importer_;
  const onnx::NodeProto& node_;
  int opset_;
  int used_outputs_;
  std::vector<Value> inputs_;  // an empty value stands for an absent input
  std::map<std::string, OnnxAttr, std::less<>> attrs_;
  std::set<std::string, std::less<>> opaque_attrs_;  // names of attributes such as graphs and types
  std::set<int> inputs_read_;
  mutable std::set<std::string, std::less<>> attrs_read_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_IMPORTED_NODE_H_
