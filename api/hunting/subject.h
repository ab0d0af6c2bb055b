// A subject: a model and values for its inputs, with which an engine is tested.
#ifndef LEMMA_API_HUNTING_SUBJECT_H_
#define LEMMA_API_HUNTING_SUBJECT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "runtime/engine.h"

namespace lemma::hunt {

struct Subject {
  Graph graph;
  std::vector<Tensor> inputs;  // in the graph's order
  int opset = 17;              // the version of ONNX's operator set to export with, if possible
};

// The graph in ONNX's form. Errors as in ExportOnnx (graph/onnx/export.h).
absl::StatusOr<SerializedModel> Serialized(const Subject& subject);

// Whether all floats in the inputs, in the weights and in every value that the definitions give are
// finite. False if the definitions give no values.
bool HasFiniteValuesOnly(const Subject& subject);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_SUBJECT_H_
