#include "graph/onnx/origin/plan.h"

#include "graph/onnx/origin/planner.h"

namespace lemma {
namespace {

// A node that stands for more operators than these is not kept if most of them are spelled anyway,
// because something else needs them.
constexpr size_t kSmallBody = 8;

bool IsSpelled(const KeptNode& kept, const OriginPlan& plan) {
  size_t spelled = 0;
  for (const Node* node : kept.body) spelled += plan.spelled.contains(node) ? 1 : 0;
  return kept.body.size() > kSmallBody && 2 * spelled > kept.body.size();
}

}  // namespace

OriginPlan PlanExport(const Graph& graph, const OnnxOrigin& origin,
                      const std::function<bool(const OriginNode&)>& usable) {
  absl::flat_hash_set<int> banned;
  for (size_t i = 0; i < origin.nodes.size(); ++i) {
    if (!usable(origin.nodes[i])) banned.insert(static_cast<int>(i));
  }
  while (true) {
    Planner planner(graph, origin, banned);
    OriginPlan plan = planner.Run();
    const size_t before = banned.size();
    for (const auto& [number, kept] : plan.kept) {
      if (IsSpelled(kept, plan) || planner.IsPartlyUsed(number, plan)) banned.insert(number);
    }
    if (banned.size() == before) return plan;
  }
}

}  // namespace lemma
