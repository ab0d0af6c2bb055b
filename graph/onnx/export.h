// From graphs to ONNX models, of operator set 17.
#ifndef LEMMA_GRAPH_ONNX_EXPORT_H_
#define LEMMA_GRAPH_ONNX_EXPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "graph/graph.h"
#include "graph/onnx/model_info.h"

namespace lemma {

constexpr int kExportOpset = 17;

struct ExportOptions {
  // Describes the model; names, types and order of inputs and outputs come from the graph. Defaults
  // of its inputs are written.
  OnnxInfo info;
  // Weights beyond this many bytes together go to a file beside the model.
  int64_t max_inline_bytes = 1'900'000'000;
};

// The serialized model. A weight without values becomes an input after the graph's own. Opaque
// nodes come back as they were. Unimplemented if an operator has no form in ONNX, or an opaque one
// meant something else in operator set 17; InvalidArgument if the model would exceed
// max_inline_bytes.
absl::StatusOr<std::string> ExportOnnx(const Graph& graph, const ExportOptions& options = {});

// The same to `path`, and weights to `path`.data if need be: to be committed (CommitAll) together.
absl::StatusOr<std::vector<StagedFile>> StageOnnx(const Graph& graph, const std::string& path,
                                                  const ExportOptions& options = {});

// Stages and commits: either complete or, on failure, nothing is written.
absl::Status WriteOnnx(const Graph& graph, const std::string& path,
                       const ExportOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_EXPORT_H_
