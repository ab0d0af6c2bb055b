// Finds the operators of a graph that stand for nodes of the ONNX model from which it was imported.
#ifndef LEMMA_GRAPH_ONNX_ORIGIN_KEPT_BODIES_H_
#define LEMMA_GRAPH_ONNX_ORIGIN_KEPT_BODIES_H_

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"
#include "graph/onnx/model_info.h"

namespace lemma {

// The nodes of `graph` that stand for nodes of that model. As long as none of the nodes that stand
// for a node of the model changes, an export writes that node as it was.
absl::flat_hash_set<const Node*> KeptBodies(const Graph& graph, const OnnxInfo& info);

// Those that stand for a loop (GRU, Loop, LSTM, RNN, Scan) or for an operator that samples at
// computed positions (DeformConv, GridSample, RoiAlign).
absl::flat_hash_set<const Node*> LoopBodies(const Graph& graph, const OnnxInfo& info);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_ORIGIN_KEPT_BODIES_H_
