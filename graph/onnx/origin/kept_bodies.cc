#include "graph/onnx/origin/kept_bodies.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "graph/onnx/origin/plan.h"

namespace lemma {
namespace {

using Nodes = absl::flat_hash_set<const Node*>;

// Loops, and operators that sample at computed positions: their parts are many, and other programs
// execute the parts far more slowly than the node.
bool IsLoopOrSampler(const onnx::NodeProto& node) {
  static const auto* names = new std::set<std::string>{"DeformConv", "GRU", "GridSample", "LSTM",
                                                       "Loop",       "RNN", "RoiAlign",   "Scan"};
  if (node.domain() == "com.microsoft") return node.op_type() == "DynamicQuantizeLSTM";
  const bool is_default = node.domain().empty() || node.domain() == "ai.onnx";
  return is_default && names->count(node.op_type()) != 0;
}

// The bodies of nodes of which `wanted` holds.
Nodes Bodies(const Graph& graph, const OnnxOrigin& origin,
             const std::function<bool(const onnx::NodeProto&)>& wanted) {
  Nodes bodies;
  const auto& nodes = origin.model.graph().node();
  if (std::none_of(nodes.begin(), nodes.end(), wanted)) return bodies;
  const OriginPlan plan = PlanExport(graph, origin, [](const OriginNode&) { return true; });
  for (const auto& [number, kept] : plan.kept) {
    const std::vector<int>& positions = origin.nodes[number].nodes;
    const bool is_wanted = std::any_of(positions.begin(), positions.end(),
                                       [&](int position) { return wanted(nodes[position]); });
    if (is_wanted) bodies.insert(kept.body.begin(), kept.body.end());
  }
  return bodies;
}

}  // namespace

Nodes KeptBodies(const Graph& graph, const OnnxInfo& info) {
  if (info.origin == nullptr) return {};
  return Bodies(graph, *info.origin, [](const onnx::NodeProto&) { return true; });
}

Nodes LoopBodies(const Graph& graph, const OnnxInfo& info) {
  return info.origin == nullptr ? Nodes() : Bodies(graph, *info.origin, IsLoopOrSampler);
}

}  // namespace lemma
