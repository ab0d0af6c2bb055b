// The operators that loops and recurrent networks of an ONNX model became.
#ifndef LEMMA_GRAPH_ONNX_LOOP_BODIES_H_
#define LEMMA_GRAPH_ONNX_LOOP_BODIES_H_

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"
#include "graph/onnx/model_info.h"

namespace lemma {

// The nodes of `graph` that stand for GRU, Loop, LSTM, RNN and Scan nodes of the model that it was
// made from. An export writes such a node as it was as long as none of them changes.
absl::flat_hash_set<const Node*> LoopBodies(const Graph& graph, const OnnxInfo& info);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_LOOP_BODIES_H_
