// The data of QuantizableModel and QuantizedModel. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_MODEL_IMPL_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_MODEL_IMPL_H_

#include <onnx/onnx_pb.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx/quantization/model_index.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

struct QuantizableModel::Impl {
  std::string path, folder;  // the model's file, and the folder of its external data
  onnx::ModelProto proto;
  std::unique_ptr<ModelIndex> index;  // of `proto`
  std::vector<QuantizableOp> operators;
  std::vector<KeptOp> kept;

  // Sets the index and the lists from `proto`.
  void FindAll();
};

struct QuantizedModel::Impl {
  std::shared_ptr<const QuantizableModel::Impl> source;
  onnx::ModelProto proto;
  std::vector<std::string> notes;
};

// The names of the values that chosen operators write as integers: the results of all chosen
// operators except Gemm and MatMul, whose results stay floats. chosen[i] belongs to ops[i].
std::set<std::string> ResultsOf(const std::vector<QuantizableOp>& ops,
                                const std::vector<bool>& chosen);
// The names of the values that chosen operators read: QuantizableOp::reads.
std::set<std::string> ReadsOf(const std::vector<QuantizableOp>& ops,
                              const std::vector<bool>& chosen);

// Imports a model that is in memory and whose external data lie in `folder`. Errors begin with
// `path`. The import takes values out of `model`.
absl::StatusOr<ImportedModel> ImportProto(onnx::ModelProto* model, const std::string& path,
                                          const std::string& folder, const ImportOptions& options);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_MODEL_IMPL_H_
