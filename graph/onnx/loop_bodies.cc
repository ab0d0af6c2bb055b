#include "graph/onnx/loop_bodies.h"

#include <algorithm>
#include <set>
#include <string>

#include "graph/onnx/importer.h"
#include "graph/onnx/origin/plan.h"

namespace lemma {
namespace {

bool IsLoop(const onnx::NodeProto& node) {
  static const auto* loops = new std::set<std::string>{"GRU", "LSTM", "Loop", "RNN", "Scan"};
  return NormalDomain(node.domain()).empty() && loops->count(node.op_type()) != 0;
}

}  // namespace

absl::flat_hash_set<const Node*> LoopBodies(const Graph& graph, const OnnxInfo& info) {
  absl::flat_hash_set<const Node*> bodies;
  if (info.origin == nullptr) return bodies;
  const auto& nodes = info.origin->model.graph().node();
  if (std::none_of(nodes.begin(), nodes.end(), IsLoop)) return bodies;
  const OriginPlan plan =
      PlanExport(graph, *info.origin, [](const OriginNode& node) { return !node.draws; });
  for (const auto& [number, kept] : plan.kept) {
    const OriginNode& origin = info.origin->nodes[number];
    const bool loops = std::any_of(origin.nodes.begin(), origin.nodes.end(),
                                   [&](int position) { return IsLoop(nodes[position]); });
    if (loops) bodies.insert(kept.body.begin(), kept.body.end());
  }
  return bodies;
}

}  // namespace lemma
