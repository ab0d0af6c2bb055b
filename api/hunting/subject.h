// A model with values of its inputs, with which an engine is tested.
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
  int opset = 17;              // the operator set of ONNX in which it is exported, if possible
};

// The graph in ONNX's form. Errors as in ExportOnnx (graph/onnx/export.h).
absl::StatusOr<SerializedModel> Serialized(const Subject& subject);

// Whether every float of the model's values, as the definitions give them, is finite, inputs and
// weights included. False if the definitions give no values.
bool HasFiniteValuesOnly(const Subject& subject);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_SUBJECT_H_
