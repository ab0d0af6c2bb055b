// A group of operators as a model of its own, as ONNX Runtime executes it inside a larger model.
//
// ONNX Runtime computes convolutions on tensors whose channels are stored in blocks, and converts a
// tensor where an operator with such a layout meets one without. So the time of a group depends on
// the layouts of its operands, and its neighbours' on the layout of its result. To find out, the
// group is put between small convolutions, and ONNX Runtime optimizes the whole; then these are cut
// off again, and what is left is timed.
#ifndef LEMMA_RUNTIME_ONNXRUNTIME_GROUP_MODEL_H_
#define LEMMA_RUNTIME_ONNXRUNTIME_GROUP_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "runtime/onnxruntime/ort_library.h"

namespace lemma::ort {

// Operators with their operands.
struct GroupSpec {
  std::vector<NodePtr> nodes;  // operands before users; the last one's outputs are the result
  struct Operand {
    Value value;
    bool is_static = false;   // depends on weights only
    bool is_blocked = false;  // its producer stores channels in blocks
  };
  std::vector<Operand> operands;  // distinct, in order of first use

  // Operators, attributes, types and layouts in one line; no names and no values.
  std::string Signature() const;
};

struct GroupModel {
  std::string model;                         // serialized
  std::vector<std::string> inputs, outputs;  // names; empty outputs: nothing is left to compute
  std::vector<Tensor> values;                // of the inputs: random
  bool is_optimized = false;  // ONNX Runtime has optimized it, and must not do so again
  bool is_blocked = false;    // the first result has channels in blocks
};

// Whether a value of this type may have its channels in blocks.
bool MayBeBlocked(const TensorType& type);

// Weights have random values. Unimplemented if ONNX Runtime cannot execute the group.
absl::StatusOr<GroupModel> MakeGroupModel(const Library* library, const GroupSpec& group,
                                          int threads);

}  // namespace lemma::ort

#endif  // LEMMA_RUNTIME_ONNXRUNTIME_GROUP_MODEL_H_
