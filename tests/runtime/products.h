// Recognizes operators that the CPU back end may compute by convolutions or matrix products of
// oneDNN.
#ifndef LEMMA_TESTS_RUNTIME_PRODUCTS_H_
#define LEMMA_TESTS_RUNTIME_PRODUCTS_H_

#include <algorithm>

#include "absl/strings/match.h"
#include "graph/graph.h"

namespace lemma {

// Whether the CPU back end may compute the operator by oneDNN's convolution or matrix product.
// Operations fused behind such a kernel may turn NaN into a number (docs/reliability.md).
inline bool IsProduct(const OpDef& op) {
  return absl::StrContains(op.name, "conv") || absl::StrContains(op.name, "matmul");
}
// Whether IsProduct holds for some operator of the graph.
inline bool HasProduct(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const NodePtr& node) { return node->is_op() && IsProduct(node->op()); });
}

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_PRODUCTS_H_
