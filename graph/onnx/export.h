// Exports graphs as ONNX models of operator set 17.
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
  // Describes the model. Names, types and order of inputs and outputs come from the graph. The
  // inputs' default values are written.
  OnnxInfo info;
  // If the weights exceed this many bytes together, they go to a file next to the model.
  int64_t max_inline_bytes = 1'900'000'000;
};

// The serialized model. A weight without values becomes an input after the graph's own inputs.
// Opaque nodes are written as they were imported. Unimplemented if an operator has no form in ONNX,
// or if an opaque operator means something else in operator set 17 than in its own set.
// InvalidArgument if the model would exceed max_inline_bytes.
absl::StatusOr<std::string> ExportOnnx(const Graph& graph, const ExportOptions& options = {});

// Stages the model at `path` and, if needed, the weights at `path`.data; commit both with
// CommitAll.
absl::StatusOr<std::vector<StagedFile>> StageOnnx(const Graph& graph, const std::string& path,
                                                  const ExportOptions& options = {});

// Stages and commits: the files are complete or, on failure, not written.
absl::Status WriteOnnx(const Graph& graph, const std::string& path,
                       const ExportOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_EXPORT_H_
