// A model's main graph with an index: which nodes make and read a value, and which values are
// constants. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_MODEL_INDEX_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_MODEL_INDEX_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor.h"

namespace lemma {

class ModelIndex {
 public:
  // `model` must outlive the index and stay as it is; `folder` holds its external data.
  ModelIndex(const onnx::ModelProto* model, std::string folder);

  const onnx::GraphProto& graph() const { return model_->graph(); }
  const onnx::ModelProto& model() const { return *model_; }

  // The position of the node that makes the value; -1 if there is none.
  int MakerOf(const std::string& value) const;
  // The position of the only node of the main graph that reads the value; -1 if no node reads it,
  // if it is read several times or by a subgraph, or if it is an output of the graph.
  int OnlyReaderOf(const std::string& value) const;
  // The positions of all nodes that read the value, one for each time that it is read, in the order
  // of the graph; empty if a subgraph reads it, or if it is an output of the graph.
  std::vector<int> ReadersOf(const std::string& value) const;
  bool IsOutput(const std::string& value) const { return outputs_.count(value) > 0; }
  bool IsInput(const std::string& value) const { return inputs_.count(value) > 0; }

  // Whether the value is a constant: an initializer that callers cannot replace, the result of a
  // Constant with the attribute `value`, or the result of an Identity of a constant or of a
  // Transpose of a constant matrix.
  bool IsConstant(const std::string& value) const;
  // The constant's element type (TensorProto.DataType), shape and elements. If the value is not a
  // constant, these functions return 0, {} and an Internal error, in this order. Constant also
  // returns an error if the data cannot be read.
  int ConstantType(const std::string& value) const;
  Shape ConstantShape(const std::string& value) const;
  absl::StatusOr<Tensor> Constant(const std::string& value) const;

  // Every name of a value or node, also in subgraphs.
  std::set<std::string> AllNames() const;

 private:
  struct Stored {
    const onnx::TensorProto* tensor = nullptr;
    bool transposed = false;  // only for rank 2
  };
  void AddConstantNode(const onnx::NodeProto& node);
  const Stored* Find(const std::string& value) const;

  const onnx::ModelProto* model_;
  std::string folder_;
  std::map<std::string, int> makers_;
  std::map<std::string, std::vector<int>> readers_;
  std::set<std::string> captured_, inputs_, outputs_;
  std::map<std::string, Stored> constants_;
};

// Whether the node is of ONNX's default domain.
bool IsOfOnnx(const onnx::NodeProto& node);
// nullptr if the node lacks the attribute.
const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, absl::string_view name);
// The value of the attribute, or `otherwise` if the node lacks it.
int64_t IntAttribute(const onnx::NodeProto& node, absl::string_view name, int64_t otherwise);
float FloatAttribute(const onnx::NodeProto& node, absl::string_view name, float otherwise);
// The names that the node's subgraphs read from outside.
std::set<std::string> CapturedBy(const onnx::NodeProto& node);
// The name of the node or, if it has no name, of its first result.
std::string NameOf(const onnx::NodeProto& node);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_MODEL_INDEX_H_
