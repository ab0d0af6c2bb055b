// Exports graphs as ONNX models.
//
// For an imported graph, pass the OnnxInfo of its import as ExportOptions::info. The export then
// keeps the operator set, IR version, documentation and metadata of the imported model. Nodes of
// that model whose results the graph still needs are written as they were: with their names,
// attributes and documentation, and with the same names of their outputs. So the export of an
// unchanged graph gives the imported model, with three differences: symbolic dimensions that the
// import bound to numbers are written as these numbers; inputs and outputs get the types that the
// model does not declare; and nodes, initializers and functions that no output needs are missing.
#ifndef LEMMA_GRAPH_ONNX_EXPORT_H_
#define LEMMA_GRAPH_ONNX_EXPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "graph/graph.h"
#include "graph/onnx/import.h"
#include "graph/onnx/model_info.h"

namespace lemma {

struct ExportOptions {
  // Describes the model: for an imported graph, what the import gave.
  // info.opset is the operator set to use if possible. Names, types and order
  // of inputs and outputs come from the graph. The default values in
  // info.defaults are written.
  OnnxInfo info;
  // The limit, in bytes, for all weights and constants together inside the
  // model. If they exceed it, or if the imported model kept weights in files,
  // StageOnnx and WriteOnnx put each one above 1 KiB into a file next to the
  // model.
  int64_t max_inline_bytes = 1'900'000'000;
  // Receives one line, with the reason, if an operator or a type needs a later
  // operator set than info.opset. Opaque nodes of a graph that was not imported
  // cause no line. nullptr: not wanted.
  std::vector<std::string>* notes = nullptr;
};

// The serialized model. A weight without values becomes an input after the
// graph's own inputs. Opaque nodes are written as they were imported. If the
// operator set info.opset lacks an operator or an element type of the graph,
// the model's set is the smallest later one that has all of them. Unimplemented
// if an operator has no form in ONNX, or if two opaque operators need different
// sets. InvalidArgument if the weights and constants exceed max_inline_bytes.
absl::StatusOr<std::string> ExportOnnx(const Graph& graph, const ExportOptions& options = {});

// Checks that ONNX has a form for every operator: returns the errors of
// ExportOnnx, except for the limit max_inline_bytes, and serializes nothing.
absl::Status CheckExport(const Graph& graph, const ExportOptions& options = {});

// Exports the graph and imports the model again, in memory. The result shares the graph's weights,
// so these may have any size.
absl::StatusOr<ImportedModel> RoundTrip(const Graph& graph, const ExportOptions& options,
                                        const ImportOptions& import);

// Stages the model at `path` and, if needed, the weights at `path`.data; commit both with
// CommitAll (base/file.h). Aborted if a file with weights that the graph shares has changed since
// it was imported; InvalidArgument if the weights would overwrite such a file.
absl::StatusOr<std::vector<StagedFile>> StageOnnx(const Graph& graph, const std::string& path,
                                                  const ExportOptions& options = {});

// Stages and commits: the files are complete or, on failure, not written.
absl::Status WriteOnnx(const Graph& graph, const std::string& path,
                       const ExportOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_EXPORT_H_
