// The kernels and the memory of a back end's plan for a model.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "api/inspect.h"
#include "api/models/option_error.h"
#include "runtime/measure.h"

namespace lemma::api {
namespace {

std::string NameOf(const Graph& graph, const PlannedKernel& kernel) {
  if (kernel.nodes.empty()) return "copy";
  const absl::string_view label = graph.LabelOf(Value(kernel.nodes.back(), 0));
  const std::string& op = kernel.nodes.front()->op().name;
  return label.empty() ? op : absl::StrCat(op, " ", label);
}

// The values that live while kernel `peak` runs, the largest first.
std::vector<MemoryOverRun::LiveValue> LiveAt(const Graph& graph, const MemoryTimeline& timeline,
                                             int peak) {
  absl::flat_hash_map<int, Value> first;  // by buffer
  for (const auto& [value, buffer] : timeline.places) first.emplace(buffer, value);
  std::vector<MemoryOverRun::LiveValue> there;
  for (int b = 0; b < static_cast<int>(timeline.buffers.size()); ++b) {
    const BufferLife& life = timeline.buffers[b];
    if (life.first > peak || life.last < peak) continue;
    auto value = first.find(b);
    const bool known = value != first.end();
    std::string label = known                         ? std::string(graph.LabelOf(value->second))
                        : b >= timeline.first_scratch ? "scratch of the kernel"
                                                      : "a copy";
    if (label.empty()) label = value->second.node().op().name;
    there.push_back(
        {label, known ? value->second.type().ToString() : "", life.bytes, life.first, life.last});
  }
  std::stable_sort(there.begin(), there.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return there;
}

}  // namespace

absl::StatusOr<PlanSummary> PlanOf(const Model& model, const ExecutionOptions& execution) {
  auto backend = MakeBackend(execution);
  if (!backend.ok()) return Prefixed(model.path, backend.status());
  auto plan = (*backend)->Plan(model.graph, CompileOptionsOf(execution));
  if (!plan.ok()) return Prefixed(model.path, plan.status());
  return plan;
}

absl::StatusOr<MemoryOverRun> MemoryOf(const Model& model, const ExecutionOptions& execution) {
  auto measurer = MakeMeasurer(execution.backend, execution.threads, execution.backend_options);
  if (measurer == nullptr) {
    return OptionError(
        absl::StrCat("option backend: the back end ", execution.backend, " makes no plan"));
  }
  auto timeline = measurer->Timeline(model.graph);
  if (!timeline.ok()) return Prefixed(model.path, timeline.status());
  const std::vector<int64_t> live = LiveBytes(timeline->buffers, timeline->kernels.size());
  MemoryOverRun memory;
  memory.arena_bytes = timeline->peak_bytes;
  for (size_t i = 0; i < live.size(); ++i) {
    memory.kernels.push_back({NameOf(model.graph, timeline->kernels[i]), live[i]});
  }
  if (live.empty()) return memory;
  const auto most = std::max_element(live.begin(), live.end());
  memory.peak = static_cast<int>(most - live.begin());
  memory.live_bytes = *most;
  memory.at_peak = LiveAt(model.graph, *timeline, memory.peak);
  return memory;
}

}  // namespace lemma::api
