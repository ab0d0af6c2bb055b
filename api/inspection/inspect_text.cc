// Operators, plans and memory as text.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/inspect.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

constexpr size_t kBars = 48, kBarWidth = 40;  // as many lines as fit a screen
constexpr size_t kMostAtPeak = 10;            // values that are listed

std::string Bytes(int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

// A bar for each kernel or, if there are many, for the kernel with the most memory of several.
std::string Bars(const MemoryOverRun& memory) {
  const auto most = static_cast<double>(memory.live_bytes);
  const auto& kernels = memory.kernels;
  const size_t step = (kernels.size() + kBars - 1) / kBars;
  TextTable table({"kernel", "memory", "<", "<largest there"});
  for (size_t from = 0; from < kernels.size(); from += step) {
    const auto first = kernels.begin() + static_cast<int64_t>(from);
    const auto end = kernels.begin() + static_cast<int64_t>(std::min(from + step, kernels.size()));
    const auto at = std::max_element(
        first, end, [](const auto& a, const auto& b) { return a.live_bytes < b.live_bytes; });
    const auto live = static_cast<double>(at->live_bytes);
    const auto width = static_cast<size_t>(std::lround(kBarWidth * live / std::max(most, 1.0)));
    table.Row(
        {absl::StrCat(at - kernels.begin()), FormatBytes(live), std::string(width, '#'), at->name});
  }
  return table.ToString();
}

}  // namespace

std::string OperatorList() {
  TextTable table({"<operator", "<group"});
  for (const OperatorEntry& entry : ListOperators()) table.Row({entry.signature, entry.group});
  return table.ToString();
}

std::string OperatorTable(const Model& model) {
  const Graph& graph = model.graph;
  std::string text;
  for (const std::string& line : OnnxHeader(model)) absl::StrAppend(&text, line, "\n");
  absl::StrAppend(&text, graph.name(), " (", Name(model.format),
                  "): ", FormatCount(graph.num_ops(), "operator"), ", ", Bytes(WeightBytes(graph)),
                  " of weights\n");
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    absl::StrAppend(&text, "  input  ", graph.input_names()[i], ": ",
                    graph.inputs()[i].type().ToString(), "\n");
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    absl::StrAppend(&text, "  output ", graph.output_names()[i], ": ",
                    graph.outputs()[i].type().ToString(), "\n");
  }
  TextTable table({"operator", "count", "Mflop", "bytes moved"});
  std::vector<std::pair<std::string, OperatorTotals>> rows;
  for (const auto& row : OperatorsOf(graph)) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.flops > b.second.flops; });
  for (const auto& [name, row] : rows) {
    table.Row({name, absl::StrCat(row.count), absl::StrFormat("%.1f", row.flops * 1e-6),
               FormatBytes(row.bytes)});
  }
  return text + table.ToString();
}

std::string TextOf(const PlanSummary& plan, const std::string& backend) {
  return absl::StrCat(plan.text, FormatCount(plan.kernels, "kernel"), " on ", backend,
                      ", peak memory ", Bytes(plan.memory.planned_bytes), " of values, ",
                      Bytes(plan.memory.weight_bytes), " of weights\n");
}

std::string TextOf(const MemoryOverRun& memory) {
  if (memory.kernels.empty()) return "nothing is computed when it runs\n";
  TextTable table({"<largest at the peak", "<type", "memory", "kernels"});
  for (size_t i = 0; i < std::min(memory.at_peak.size(), kMostAtPeak); ++i) {
    const MemoryOverRun::LiveValue& value = memory.at_peak[i];
    table.Row(
        {value.name, value.type, Bytes(value.bytes), absl::StrCat(value.first, "–", value.last)});
  }
  return absl::StrCat(Bars(memory), "\n", table.ToString(), "\npeak  ", Bytes(memory.live_bytes),
                      " of values at once, at kernel ", memory.peak, " of ", memory.kernels.size(),
                      "; ", Bytes(memory.arena_bytes), " with gaps between them\n");
}

}  // namespace lemma::api
