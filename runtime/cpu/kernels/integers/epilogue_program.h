// The element-wise applications behind a product, as a graph over a block of the product's rows.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_EPILOGUE_PROGRAM_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_EPILOGUE_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "kernels/evaluate/evaluate.h"
#include "runtime/plan/compose_nodes.h"

namespace lemma::cpu {

// A graph with one input [rows, columns] for the product, then one input for each of `operands`, in
// this order, and one output [rows, columns].
struct EpilogueGraph {
  // The shape in which the graph reads an operand: [rows, columns], [columns] or [].
  enum class Form { kFull, kVector, kNumber };
  Graph graph;
  std::vector<Value> operands;
  std::vector<Form> forms;  // one for each of `operands`
};

// The graph of `nodes`, operands before users, which compute the output of the last node from
// `product` and other values, element by element. If `nodes` is empty, the output is `product`
// itself. Dimension `channel` of the product's shape becomes the columns. Unimplemented if an
// operand has none of the three forms, if a node has several outputs, or if the result's shape is
// not [rows, columns]. Other errors are those of GraphBuilder.
absl::StatusOr<EpilogueGraph> MakeEpilogueGraph(const Value& product,
                                                absl::Span<const NodePtr> nodes, int channel,
                                                int64_t rows, int64_t columns);

// The members of `nodes`, in order, that are needed to compute the output of the last node when
// `product` is given. `nodes` must not be empty.
std::vector<NodePtr> NodesBehind(const Value& product, absl::Span<const NodePtr> nodes);

// Runs the program with the number type of this arithmetic; arguments and errors are those of Run
// (kernels/evaluate/evaluate.h).
absl::Status RunIn(Arithmetic arithmetic, const LoopProgram& program,
                   absl::Span<const TensorView> inputs, absl::Span<const MutableTensorView> outputs,
                   const RunOptions& options = {});

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_EPILOGUE_PROGRAM_H_
