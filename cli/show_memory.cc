#include "cli/show_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/text_table.h"

namespace lemma::cli {
namespace {

std::string NameOf(const Graph& graph, const PlannedKernel& kernel) {
  if (kernel.nodes.empty()) return "copy";
  const absl::string_view label = graph.LabelOf(Value(kernel.nodes.back(), 0));
  const std::string& op = kernel.nodes.front()->op().name;
  return label.empty() ? op : absl::StrCat(op, " ", label);
}

// As many rows as fit a screen; each stands for some kernels, by the one with the most memory.
void PrintBars(const Graph& graph, const MemoryTimeline& timeline,
               const std::vector<double>& live) {
  constexpr size_t kRows = 48, kWidth = 40;
  const double most = *std::max_element(live.begin(), live.end());
  const size_t step = (live.size() + kRows - 1) / kRows;
  TextTable table({"kernel", "memory", "<", "<largest there"});
  for (size_t from = 0; from < live.size(); from += step) {
    const auto end = live.begin() + static_cast<int64_t>(std::min(from + step, live.size()));
    const size_t at =
        std::max_element(live.begin() + static_cast<int64_t>(from), end) - live.begin();
    const auto width = static_cast<size_t>(kWidth * live[at] / std::max(most, 1.0) + 0.5);
    table.Row({absl::StrCat(at), FormatBytes(live[at]), std::string(width, '#'),
               NameOf(graph, timeline.kernels[at])});
  }
  std::fputs(table.ToString().c_str(), stdout);
}

void PrintLargest(const Graph& graph, const MemoryTimeline& timeline, int peak) {
  absl::flat_hash_map<int, Value> first;  // by buffer
  for (const auto& [value, buffer] : timeline.places) first.emplace(buffer, value);
  std::vector<int> there;
  for (size_t b = 0; b < timeline.buffers.size(); ++b) {
    const BufferLife& life = timeline.buffers[b];
    if (life.first <= peak && life.last >= peak) there.push_back(static_cast<int>(b));
  }
  std::stable_sort(there.begin(), there.end(), [&](int a, int b) {
    return timeline.buffers[a].bytes > timeline.buffers[b].bytes;
  });
  TextTable table({"<largest at the peak", "<type", "memory", "kernels"});
  for (size_t i = 0; i < std::min<size_t>(there.size(), 10); ++i) {
    const BufferLife& life = timeline.buffers[there[i]];
    auto value = first.find(there[i]);
    const bool known = value != first.end();
    std::string label = known ? std::string(graph.LabelOf(value->second))
                        : there[i] >= timeline.first_scratch ? "scratch of the kernel"
                                                             : "a copy";
    if (label.empty()) label = value->second.node().op().name;
    table.Row({label, known ? value->second.type().ToString() : "",
               FormatBytes(static_cast<double>(life.bytes)),
               absl::StrCat(life.first, "–", life.last)});
  }
  std::fputs(table.ToString().c_str(), stdout);
}

}  // namespace

absl::Status ShowMemory(const Graph& graph, KernelMeasurer* measurer, bool json) {
  auto timeline = measurer->Timeline(graph);
  if (!timeline.ok()) return timeline.status();
  const std::vector<int64_t> bytes = LiveBytes(timeline->buffers, timeline->kernels.size());
  const std::vector<double> live(bytes.begin(), bytes.end());  // for tables and JSON
  const auto most = std::max_element(live.begin(), live.end());
  const int peak = static_cast<int>(most - live.begin());
  if (json) {
    Json result = Json::Object();
    result.Set("graph", graph.name()).Set("peak_bytes", timeline->peak_bytes);
    result.Set("peak_kernel", peak).Set("live_bytes", Json::Array(live));
    std::puts(result.ToString().c_str());
    return absl::OkStatus();
  }
  if (live.empty()) {
    std::puts("nothing is computed when it runs");
    return absl::OkStatus();
  }
  PrintBars(graph, *timeline, live);
  std::puts("");
  PrintLargest(graph, *timeline, peak);
  std::printf("\npeak  %s of values at once, at kernel %d of %d; %s with gaps between them\n",
              FormatBytes(*most).c_str(), peak, static_cast<int>(live.size()),
              FormatBytes(static_cast<double>(timeline->peak_bytes)).c_str());
  return absl::OkStatus();
}

}  // namespace lemma::cli
