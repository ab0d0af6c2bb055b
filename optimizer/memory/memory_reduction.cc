#include "optimizer/memory/memory_reduction.h"

#include <algorithm>
#include <utility>

#include "graph/barrier.h"
#include "graph/builder.h"
#include "optimizer/memory/recomputation_candidates.h"

namespace lemma::optimizer {
namespace {

constexpr double kLeastMs = 1e-4;  // even a view costs a little
constexpr int64_t kLeastOffloaded = 1 << 16;
// PCIe 5 with 16 lanes, one way. Only links soldered to the host are faster.
constexpr double kLinkBytesPerMs = 64e6;

}  // namespace

Reductions Reductions::Without(int index) const {
  Reductions others = *this;
  others.recomputed[index] = Recomputation();
  return others;
}

std::vector<int64_t> ReducedGraph::Live() const {
  return LiveBytes(timeline.buffers, timeline.kernels.size());
}

MemoryReducer::MemoryReducer(const Graph& graph, KernelMeasurer* measurer)
    : graph_(graph), measurer_(measurer) {
  const auto& nodes = graph.nodes();
  for (size_t n = 0; n < nodes.size(); ++n) position_[nodes[n].get()] = static_cast<int>(n);
  for (const NodePtr& node : nodes) {
    bool is_static = node->kind() != Node::Kind::kInput;
    for (const Value& v : node->inputs()) is_static &= is_static_[position_.at(&v.node())];
    is_static_.push_back(is_static);
  }
}

absl::Status MemoryReducer::Price(CostModel* costs) {
  auto shares = costs->SharesOf(graph_);
  if (!shares.ok()) return shares.status();
  node_ms_.assign(graph_.nodes().size(), 0);
  for (size_t n = 0; n < node_ms_.size(); ++n) {
    if (n < shares->size()) {
      node_ms_[n] = (*shares)[n].ms();
    } else if (graph_.nodes()[n]->is_op()) {
      const auto cost = costs->CostOfOperator(*graph_.nodes()[n]);
      if (cost) node_ms_[n] = cost->ms();
    }
  }
  transfer_ms_.assign(graph_.nodes().size(), 0);
  return measurer_->CanOffload() ? PriceTransfers(costs) : absl::OkStatus();
}

absl::Status MemoryReducer::PriceTransfers(CostModel* costs) {
  absl::flat_hash_map<std::string, double> known;
  for (size_t n = 0; n < transfer_ms_.size(); ++n) {
    const Node& node = *graph_.nodes()[n];
    if (!node.is_op() || is_static_[n] || node.num_outputs() != 1) continue;
    if (node.type(0).num_bytes() < kLeastOffloaded) continue;
    auto [ms, fresh] = known.try_emplace(node.type(0).ToString(), 0);
    if (fresh) {
      GraphBuilder builder("transfer");
      const Value x = builder.Input("x", node.type(0));
      builder.Output("y", Barrier(Offload(x), x));
      auto graph = std::move(builder).Build();
      if (!graph.ok()) return graph.status();
      auto cost = costs->CostOf(*graph);
      if (!cost.ok()) return cost.status();
      const auto bytes = static_cast<double>(node.type(0).num_bytes());
      ms->second = std::max(2 * bytes / kLinkBytesPerMs, cost->ms());
    }
    transfer_ms_[n] = ms->second;
  }
  return absl::OkStatus();
}

double MemoryReducer::MsOf(const Recomputation& unit) const {
  double ms = unit.empty() ? 0 : kLeastMs;
  for (int n : unit.nodes) ms += n == unit.fetched ? transfer_ms_[n] : node_ms_[n];
  return ms;
}

double MemoryReducer::MsOf(const Reductions& reductions) const {
  double ms = 0;
  for (const Recomputation& unit : reductions.recomputed) ms += MsOf(unit);
  return ms;
}

absl::StatusOr<std::optional<ReducedGraph>> MemoryReducer::With(Reductions reductions) {
  std::optional<ReducedGraph> reduced;
  auto copied = WithCopies(graph_, position_, is_static_, reductions.recomputed);
  if (!copied) return reduced;
  auto timeline = measurer_->Timeline(copied->graph);
  if (!timeline.ok()) return timeline.status();
  reduced = ReducedGraph{std::move(reductions), *std::move(copied), *std::move(timeline)};
  reduced->ms = MsOf(reduced->reductions);
  return reduced;
}

std::vector<ReductionChoice> MemoryReducer::Candidates(const ReducedGraph& now, int peak) const {
  std::vector<ReductionChoice> candidates;
  const PlannedCopies plan{now.copied, now.timeline, now.reductions.recomputed, is_static_};
  const auto add = [&](std::vector<RecomputationCandidate> found) {
    for (RecomputationCandidate& c : found) {
      const int fetched = c.list.back().fetched;
      if (fetched >= 0 && transfer_ms_[fetched] == 0) continue;
      const auto bytes = static_cast<double>(now.timeline.buffers[c.buffer].bytes);
      Reductions reductions{std::move(c.list)};
      const double ms = MsOf(reductions) - now.ms;
      candidates.push_back({std::move(reductions), ms / bytes});
    }
  };
  add(RecomputationCandidates(plan, peak));
  if (measurer_->CanOffload()) add(OffloadCandidates(plan, peak));
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const ReductionChoice& a, const ReductionChoice& b) { return a.score < b.score; });
  return candidates;
}

std::vector<int> MemoryReducer::ByCost(const Reductions& reductions) const {
  std::vector<std::pair<double, int>> order;
  for (size_t k = 0; k < reductions.recomputed.size(); ++k) {
    const Recomputation& unit = reductions.recomputed[k];
    if (!unit.empty()) order.emplace_back(-MsOf(unit), static_cast<int>(k));
  }
  std::sort(order.begin(), order.end());
  std::vector<int> indices;
  for (const auto& [cost, k] : order) indices.push_back(k);
  return indices;
}

}  // namespace lemma::optimizer
