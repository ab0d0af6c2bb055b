// Makes an ONNX model of a group of operators, so that the group can be timed as ONNX Runtime
// executes it inside a larger model.
//
// ONNX Runtime computes convolutions on tensors whose channels are stored in blocks. It converts a
// tensor between an operator that uses this blocked layout and an operator that does not. So the
// time of a group depends on the layouts of its operands, and the time of the group's neighbors
// depends on the layout of its result. MakeGroupModel puts the group between small convolutions,
// lets ONNX Runtime optimize the whole model, and cuts the small convolutions off again. The
// remaining operators are the model of the group. If no operand has the blocked layout and the
// result cannot have it, no convolutions are added, and the exported group itself is the model.
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

// A group of operators (ort_groups.h) with its operands.
struct GroupSpec {
  std::vector<NodePtr> nodes;  // operands before users; the last one's outputs are the results
  struct Operand {
    Value value;
    bool is_static = false;   // depends on weights and constants only
    bool is_blocked = false;  // its producer stores channels in blocks
  };
  std::vector<Operand> operands;  // distinct, in order of first use

  // Operators, attributes, types and layouts in one line, without names. The value of an operand is
  // included only if it is a single number that is known.
  std::string Signature() const;
};

// The result of MakeGroupModel.
struct GroupModel {
  std::string model;                         // a serialized ModelProto
  std::vector<std::string> inputs, outputs;  // names; no outputs: the group has nothing to execute
  std::vector<Tensor> values;                // of `inputs`, in order; f32 values are random
  bool is_optimized = false;  // ONNX Runtime has optimized the model and must not do so again
  bool is_blocked = false;    // the group's first result has channels in blocks
};

// Whether ONNX Runtime may store a value of this type with its channels in blocks: f32, of rank 4,
// not empty.
bool MayBeBlocked(const TensorType& type);

// The model of a group, for execution with `threads` threads. Weights and constants get made-up
// values, which are 0 for integers; only a single known number keeps its value. Unimplemented if
// the group cannot be exported, or if ONNX Runtime cannot optimize its model. A model with
// is_optimized = false has not been loaded, so ONNX Runtime may still refuse it.
absl::StatusOr<GroupModel> MakeGroupModel(const Library* library, const GroupSpec& group,
                                          int threads);

}  // namespace lemma::ort

#endif  // LEMMA_RUNTIME_ONNXRUNTIME_GROUP_MODEL_H_
