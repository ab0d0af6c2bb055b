// Describes the operands and results of Loop and Scan, the operators that repeat a subgraph.
// Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_RUN_TIME_LOOP_SIGNATURE_H_
#define LEMMA_GRAPH_ONNX_RUN_TIME_LOOP_SIGNATURE_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace lemma::structural {

// How the operands and results of a node correspond to the inputs and outputs of its body. States
// are values that each iteration passes to the next.
//   * The operands of Loop are a limit on the number of iterations, a condition, then states. Its
//     body takes the iteration's number, the condition, then the states.
//   * The operands of Scan are states, then tensors. Its body takes the states, then one element of
//     each tensor along an axis.
//   * The body returns a condition (Loop only), then the new states, then further values. The node
//     returns the last states, then one tensor for each further value: along one axis, the tensor
//     has the value from each iteration.
struct LoopSignature {
  // A tensor whose elements along an axis are read or written by the iterations, one element by
  // each iteration.
  struct Elements {
    int64_t axis = 0;        // negative: from the end
    bool backwards = false;  // from the last element to the first
  };
  bool is_loop = false;  // false: Scan
  int states = 0;        // the number of states
  // `scanned`: the operands that are read element by element (Scan only). `outputs`: the results
  // that are written element by element.
  std::vector<Elements> scanned, outputs;

  // The number of operands before the states.
  int parameters() const { return is_loop ? 2 : 0; }
};

// Whether `node` is Loop, or Scan of operator set 9 or later (earlier ones have a batch dimension).
bool IsLoopOrScan(const onnx::NodeProto& node, int opset);
// The body of a node for which IsLoopOrScan is true (owned by the node), and the node's signature.
// InvalidArgument if there is no body, or if the body's number of inputs does not fit the node.
// LoopSignatureOf also checks the body's number of outputs.
absl::StatusOr<const onnx::GraphProto*> BodyOf(const onnx::NodeProto& node);
absl::StatusOr<LoopSignature> LoopSignatureOf(const onnx::NodeProto& node);

// `axis` as a number in [0, rank): a negative one counts from the end. InvalidArgument if it is
// outside [-rank, rank).
absl::StatusOr<int64_t> AxisIn(int64_t axis, int64_t rank);

}  // namespace lemma::structural

#endif  // LEMMA_GRAPH_ONNX_RUN_TIME_LOOP_SIGNATURE_H_
