// From ONNX models to graphs.
//
// Shapes are fixed at import: symbolic dimensions are bound, and shape arithmetic is folded away.
// Trained initializers become weights under their names; scalars and integers become constants.
// From IR version 4 on, one that is an input too is that input's default value: the input stays
// one, since callers may give it another. Before that initializers had to be inputs as well. An
// operator that has no definition here becomes an opaque node if its output types are declared.
#ifndef LEMMA_GRAPH_ONNX_IMPORT_H_
#define LEMMA_GRAPH_ONNX_IMPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "graph/onnx/model_info.h"
#include "graph/tensor.h"

namespace lemma {

struct ImportOptions {
  // Sizes of symbolic dimensions by name; an unnamed one is called "INPUT.AXIS".
  std::map<std::string, int64_t> dims;
  // Size of those not named above; a note says so.
  int64_t default_dim = 1;
  // Values of inputs by name. They bind symbolic dimensions that `dims` does not; and where an
  // operator needs a value to tell its shapes, it takes it from here, and a note says that the
  // graph holds for this value of the input only.
  std::map<std::string, Tensor> input_values;
  // For training: dropouts are kept, as operators that do nothing.
  bool training = false;
};

struct ImportedModel {
  Graph graph;
  OnnxInfo info;
  // What was decided on the way, one line each: dimensions bound, inputs fixed.
  std::vector<std::string> notes;
  // Why operators were left opaque, one line each: "node 'a' (TopK): unsupported: TopK (…)".
  std::vector<std::string> opaque;
};

// InvalidArgument if the model is damaged or contradicts itself, Unimplemented ("unsupported: OP
// (reason)") if it uses what Lemma lacks. One line that names path, node and reason.
absl::StatusOr<ImportedModel> ImportOnnx(const std::string& path,
                                         const ImportOptions& options = {});
// The same from memory; external data are refused.
absl::StatusOr<ImportedModel> ImportOnnxBytes(absl::string_view bytes,
                                              const ImportOptions& options = {});

// Whether `bytes`, the beginning of a file, may be an ONNX model.
bool LooksLikeOnnx(absl::string_view bytes);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_IMPORT_H_
