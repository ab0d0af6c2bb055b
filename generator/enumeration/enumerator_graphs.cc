// Converts sets of nodes to graphs, and counts graphs.
#include <algorithm>

#include "base/status_macros.h"
#include "generator/enumeration/enumerator.h"
#include "generator/enumeration/enumerator_visits.h"

namespace lemma::generator {

int Enumerator::LocalValue(const NodeSet& set, int value) const {
  if (value < num_inputs()) return InputValue(value);
  const int node = NodeOf(value);
  int i = 0;
  while (i < set.size && set.nodes[i] != node) ++i;
  return OutputValue(i, OutputOf(value));
}

uint32_t Enumerator::ReadBits(const NodeSet& set, const Operands& operands) const {
  uint32_t bits = 0;
  for (int v : operands) {
    if (v >= num_inputs()) bits |= 1u << LocalValue(set, v);
  }
  return bits;
}

CompactGraph Enumerator::GraphOf(const NodeSet& set, int variant, const Operands& operands,
                                 const uint64_t* keys) const {
  CompactGraph graph;
  auto add = [&](int op, const Operands& read) {
    CompactGraph::Op& added = graph.ops[graph.num_ops++];
    added.variant = static_cast<uint8_t>(op);
    for (int k = 0; k < kMostOperands; ++k) {
      if (read[k] != kNone) added.operands[k] = static_cast<int8_t>(LocalValue(set, read[k]));
    }
  };
  for (int i = 0; i < set.size; ++i)
    add(nodes_[set.nodes[i]].variant, nodes_[set.nodes[i]].operands);
  add(variant, operands);
  const uint32_t read = set.read | ReadBits(set, operands);
  std::array<std::pair<uint64_t, int8_t>, kMostOps * kMostOutputs> outputs;
  int count = 0;
  for (int i = 0; i < graph.num_ops; ++i) {
    for (int o = 0; o < outputs_of_[graph.ops[i].variant]; ++o) {
      const int value = OutputValue(i, o);
      if (read >> value & 1) continue;
      const uint64_t key = i < set.size ? keys_[ValueOf(set.nodes[i], o)] : keys[o];
      outputs[count++] = {key, static_cast<int8_t>(value)};
    }
  }
  std::sort(outputs.begin(), outputs.begin() + count);
  for (int i = 0; i < count; ++i) graph.outputs[graph.num_outputs++] = outputs[i].second;
  return graph;
}

CompactGraph Enumerator::GraphOf(const Visited& visited) const {
  return GraphOf(*visited.set, visited.variant, *visited.operands, visited.keys);
}

absl::Status Enumerator::ForEachGraph(const std::function<void(const NumberedGraph&)>& visit) {
  auto visit_graph = [&](const Visited& visited) { visit(Expanded(GraphOf(visited))); };
  for (int size = 1; size <= options_.max_ops; ++size) {
    LEMMA_RETURN_IF_ERROR(VisitGraphs(size, Which::kAll, 0, kEvery, {}, visit_graph));
  }
  return absl::OkStatus();
}

void Enumerator::CountGraphs(int size, const NodeSet& set, absl::Span<const NodeRun> runs) {
  int64_t count = 0;
  const int least = set.size == 0 ? 0 : set.nodes[set.size - 1] + 1;
  for (const NodeRun& run : runs) {
    for (int node = std::max(run.begin, least); node < run.end; ++node) {
      count += Missing(set.mask | masks_[node]) == 0;
    }
  }
  AddToCount(size, count);
}

}  // namespace lemma::generator
