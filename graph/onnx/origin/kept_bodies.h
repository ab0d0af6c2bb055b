// Finds the operators of a graph that still compute nodes of the ONNX model from which the graph
// was imported.
#ifndef LEMMA_GRAPH_ONNX_ORIGIN_KEPT_BODIES_H_
#define LEMMA_GRAPH_ONNX_ORIGIN_KEPT_BODIES_H_

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"
#include "graph/onnx/model_info.h"

namespace lemma {

// The operators of `graph` that together compute the results of nodes of the imported model. An
// export of the graph writes such a node as it was, unless a rewrite replaces one of the operators
// that compute it. Empty if `info` has no origin.
absl::flat_hash_set<const Node*> KeptBodies(const Graph& graph, const OnnxInfo& info);

// The same, but only for the model's loops (GRU, Loop, LSTM, RNN, Scan, and DynamicQuantizeLSTM of
// com.microsoft) and for nodes that sample at computed positions (DeformConv, GridSample,
// RoiAlign).
absl::flat_hash_set<const Node*> LoopBodies(const Graph& graph, const OnnxInfo& info);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_ORIGIN_KEPT_BODIES_H_
