// A model with inputs, as a test of an engine.
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

// Whether every float that the definitions give, inputs and weights included, is finite. False if
// they give none.
bool HasFiniteValuesOnly(const Subject& subject);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_SUBJECT_H_
