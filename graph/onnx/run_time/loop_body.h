// The body of an opaque Loop or Scan (docs/glossary.md) as a graph of its own, so that it can be
// optimized, and the node with another body.
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
  // The node without its body, and its operator set; of a Loop also the types that its body
  // declares. Two nodes with equal frames and equal bodies compute the same results.
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

// The body of `loop`, whose operand k is values[loop.reads[k]]. The first values are the operands
// of the ONNX node itself. The body may capture any other value, so each of these is an input or a
// weight of the graph, whether the body reads it or not. Unimplemented if a state's type changes
// from one iteration to the next, if the iteration's number or the condition is no scalar, if the
// body may draw random numbers or declares other types than it has, if a size of an operand is
// known only at run time or is a sum or a product of symbolic dimensions, or if an operator of the
// body cannot be imported for all iterations. InvalidArgument if `loop` is damaged or does not fit
// `values`.
absl::StatusOr<LoopBody> ImportLoopBody(const LoopNode& loop, absl::Span<const Value> values);

// The graph after it was written as the body of an ONNX node and read again. `body` gives the names
// and the nodes that did not change.
absl::StatusOr<Graph> AsWritten(const LoopBody& body, const Graph& graph);

// `loop` with `graph` in place of its body; `body` is ImportLoopBody(loop, values). A weight of
// `graph` that is one of `values` is captured. Unimplemented if an operator of `graph` has no form
// in the node's operator set.
absl::StatusOr<LoopNode> WithBody(const LoopNode& loop, absl::Span<const Value> values,
                                  const LoopBody& body, const Graph& graph);

// The results of `node`, an opaque loop, with `loop` in its place. loop.reads are indices of
// operands of `node`.
absl::StatusOr<std::vector<Value>> ApplyLoop(const Node& node, const LoopNode& loop);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_RUN_TIME_LOOP_BODY_H_
