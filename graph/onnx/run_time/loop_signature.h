// The operands and results of operators that repeat a subgraph: Loop and Scan. Internal to
// graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_RUN_TIME_LOOP_SIGNATURE_H_
#define LEMMA_GRAPH_ONNX_RUN_TIME_LOOP_SIGNATURE_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace lemma::structural {

// The body's inputs and outputs. The operands of Loop are the number of iterations, a condition and
// states; those of Scan are states and tensors of which each iteration reads one element. The body
// returns a condition (Loop only), new states, and one element of each further output.
struct LoopSignature {
  // A tensor of which iterations read or write elements along an axis.
  struct Elements {
    int64_t axis = 0;  // negative: from the end
    bool backwards = false;
  };
  bool is_loop = false;
  int states = 0;
  std::vector<Elements> scanned, outputs;

  // The number of operands before the states.
  int parameters() const { return is_loop ? 2 : 0; }
};

// Whether `node` is Loop, or Scan of operator set 9 or later (earlier ones have a batch dimension).
bool Repeats(const onnx::NodeProto& node, int opset);
// The body of a node that repeats, and its signature. InvalidArgument if they do not fit.
absl::StatusOr<const onnx::GraphProto*> BodyOf(const onnx::NodeProto& node);
absl::StatusOr<LoopSignature> LoopSignatureOf(const onnx::NodeProto& node);

// `axis` as a number in [0, rank): a negative one counts from the end. InvalidArgument if it is
// outside [-rank, rank).
absl::StatusOr<int64_t> AxisIn(int64_t axis, int64_t rank);

}  // namespace lemma::structural

#endif  // LEMMA_GRAPH_ONNX_RUN_TIME_LOOP_SIGNATURE_H_
