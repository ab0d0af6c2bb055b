// Stores a graph in 27 bytes, so that memory can hold millions of graphs.
#ifndef LEMMA_GENERATOR_ENUMERATION_COMPACT_GRAPH_H_
#define LEMMA_GENERATOR_ENUMERATION_COMPACT_GRAPH_H_

#include <array>
#include <cstdint>

#include "generator/sets/operator_set.h"

namespace lemma::generator {

// A NumberedGraph of up to kMostOps operators, with variant numbers below 256 and input numbers
// (counted from 0) below 127.
struct CompactGraph {
  static constexpr int kMostOps = 5;
  static constexpr int8_t kNoOperand = -128;  // in place of a missing operand
  struct Op {
    uint8_t variant = 0;
    std::array<int8_t, kMostOperands> operands = {kNoOperand,
                                                  kNoOperand};  // values, as in NumberedOp
  };
  uint8_t num_ops = 0, num_outputs = 0;
  std::array<Op, kMostOps> ops;
  std::array<int8_t, kMostOps* kMostOutputs> outputs = {};  // values
};

// Expanded and Compacted convert graphs without loss. `graph` must be within the limits above.
inline NumberedGraph Expanded(const CompactGraph& compact) {
  NumberedGraph graph;
  for (int i = 0; i < compact.num_ops; ++i) {
    NumberedOp& added = graph.ops.emplace_back();
    added.variant = compact.ops[i].variant;
    for (int8_t v : compact.ops[i].operands) {
      if (v != CompactGraph::kNoOperand) added.operands.push_back(v);
    }
  }
  graph.outputs.assign(compact.outputs.begin(), compact.outputs.begin() + compact.num_outputs);
  return graph;
}

inline CompactGraph Compacted(const NumberedGraph& graph) {
  CompactGraph compact;
  for (const NumberedOp& term : graph.ops) {
    CompactGraph::Op& op = compact.ops[compact.num_ops++];
    op.variant = static_cast<uint8_t>(term.variant);
    for (size_t k = 0; k < term.operands.size(); ++k) {
      op.operands[k] = static_cast<int8_t>(term.operands[k]);
    }
  }
  for (int v : graph.outputs) compact.outputs[compact.num_outputs++] = static_cast<int8_t>(v);
  return compact;
}

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_ENUMERATION_COMPACT_GRAPH_H_
