// Imports the body of an opaque Loop or Scan (docs/glossary.md) as a graph of its own, so that the
// body can be optimized, and puts another body into such a node.
#ifndef LEMMA_GRAPH_ONNX_RUN_TIME_LOOP_BODY_H_
#define LEMMA_GRAPH_ONNX_RUN_TIME_LOOP_BODY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/onnx/model_info.h"

namespace lemma {

struct LoopBody {
  // One iteration. Its inputs are those of the body, then the captured values whose elements are
  // not known. Captured weights and constants are weights and constants of the graph. Its outputs
  // are those of the body. It holds for all iterations: each state has the same type before and
  // after an iteration.
  Graph graph;
  OnnxInfo info;  // for the export
  // The node without its body, and the node's operator set; for a Loop, also the types that its
  // body declares. Two nodes with equal frames and equal bodies compute the same results.
  std::string frame;
};

// A loop with a body: its payload (graph/onnx/opaque.h), and which values it reads.
struct LoopNode {
  std::string payload;
  std::vector<int> reads;  // by operand: its index in a list of values
};

// Whether `node` is an opaque Loop or Scan.
bool IsOpaqueLoop(const Node& node);
// A node for which IsOpaqueLoop is true, as a LoopNode whose list of values is node.inputs().
LoopNode LoopNodeOf(const Node& node);

// The body of `loop`, whose operand k is values[loop.reads[k]]. `values` begins with the operands
// of the ONNX node itself; the body may capture all further values. Each further value becomes an
// input of the graph or, if its elements are known, a weight or constant, even if this body does
// not read it. InvalidArgument if `loop` is damaged or does not fit `values`. Unimplemented if
//   * a state has no initial value, or its type changes from one iteration to the next,
//   * the iteration's number or the condition is no scalar,
//   * the body may draw random numbers, or declares types that are not the actual ones,
//   * a size of an operand is known only at run time, or is an expression such as 2*seq,
//   * an operand has an opaque type, or the captured weights and constants exceed 1 GB,
//   * an operator of the body cannot be imported for all iterations.
absl::StatusOr<LoopBody> ImportLoopBody(const LoopNode& loop, absl::Span<const Value> values);

// Writes `graph` as the body of an ONNX node, and returns the graph that is read back. `body` gives
// the names and the nodes that did not change.
absl::StatusOr<Graph> AsWritten(const LoopBody& body, const Graph& graph);

// `loop` with `graph` in place of its body; `body` is ImportLoopBody(loop, values). A weight of
// `graph` that is one of `values` is captured. Unimplemented if an operator of `graph` has no form
// in the node's operator set.
absl::StatusOr<LoopNode> WithBody(const LoopNode& loop, absl::Span<const Value> values,
                                  const LoopBody& body, const Graph& graph);

// Applies `loop` in place of `node`, an opaque loop, and returns the results. loop.reads are
// indices of operands of `node`.
absl::StatusOr<std::vector<Value>> ApplyLoop(const Node& node, const LoopNode& loop);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_RUN_TIME_LOOP_BODY_H_
