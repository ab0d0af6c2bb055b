// lemma show: a model as text, as DOT, as a table of operators; its memory over a run.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/draw.h"
#include "api/execution/backends.h"
#include "api/inspect.h"
#include "api/json/inspect.h"
#include "api/models/model_file.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "graph/text/text.h"

namespace lemma::cli {
namespace {

void PrintTable(const api::Model& model) {
  const Graph& graph = model.graph;
  for (const std::string& line : api::OnnxHeader(model)) std::printf("%s\n", line.c_str());
  std::printf("%s (%s): %d operators, %s of weights\n", graph.name().c_str(), Name(model.format),
              graph.num_ops(), FormatBytes(static_cast<double>(api::WeightBytes(graph))).c_str());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    std::printf("  input  %s: %s\n", graph.input_names()[i].c_str(),
                graph.inputs()[i].type().ToString().c_str());
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    std::printf("  output %s: %s\n", graph.output_names()[i].c_str(),
                graph.outputs()[i].type().ToString().c_str());
  }
  TextTable table({"operator", "count", "Mflop", "bytes moved"});
  std::vector<std::pair<std::string, api::OperatorTotals>> rows;
  for (const auto& row : api::OperatorsOf(graph)) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.flops > b.second.flops; });
  for (const auto& [name, row] : rows) {
    char flops[32];
    std::snprintf(flops, sizeof flops, "%.1f", row.flops * 1e-6);
    table.Row({name, absl::StrCat(row.count), flops, FormatBytes(row.bytes)});
  }
  std::fputs(table.ToString().c_str(), stdout);
}

absl::Status PrintPlan(const CommonFlags& common, const api::Model& model) {
  auto plan = api::PlanOf(model, common.Execution());
  if (!plan.ok()) return plan.status();
  if (common.json) {
    PrintJson(ToJson(model, common.Execution(), *plan));
    return absl::OkStatus();
  }
  std::fputs(plan->text.c_str(), stdout);
  std::printf("%d kernels on %s, peak memory %s of values, %s of weights\n", plan->kernels,
              common.backend.c_str(),
              FormatBytes(static_cast<double>(plan->memory.planned_bytes)).c_str(),
              FormatBytes(static_cast<double>(plan->memory.weight_bytes)).c_str());
  return absl::OkStatus();
}

// Prints as many rows as fit a screen. Each stands for several kernels and shows the one with the
// most memory.
void PrintBars(const api::MemoryOverRun& memory) {
  constexpr size_t kRows = 48, kWidth = 40;
  const auto most = static_cast<double>(memory.live_bytes);
  const auto& kernels = memory.kernels;
  const size_t step = (kernels.size() + kRows - 1) / kRows;
  TextTable table({"kernel", "memory", "<", "<largest there"});
  for (size_t from = 0; from < kernels.size(); from += step) {
    const auto first = kernels.begin() + static_cast<int64_t>(from);
    const auto end = kernels.begin() + static_cast<int64_t>(std::min(from + step, kernels.size()));
    const auto at = std::max_element(
        first, end, [](const auto& a, const auto& b) { return a.live_bytes < b.live_bytes; });
    const auto live = static_cast<double>(at->live_bytes);
    const auto width = static_cast<size_t>(kWidth * live / std::max(most, 1.0) + 0.5);
    table.Row(
        {absl::StrCat(at - kernels.begin()), FormatBytes(live), std::string(width, '#'), at->name});
  }
  std::fputs(table.ToString().c_str(), stdout);
}

void PrintMemory(const api::MemoryOverRun& memory) {
  if (memory.kernels.empty()) {
    std::puts("nothing is computed when it runs");
    return;
  }
  PrintBars(memory);
  std::puts("");
  TextTable table({"<largest at the peak", "<type", "memory", "kernels"});
  for (size_t i = 0; i < std::min<size_t>(memory.at_peak.size(), 10); ++i) {
    const api::MemoryOverRun::LiveValue& value = memory.at_peak[i];
    table.Row({value.name, value.type, FormatBytes(static_cast<double>(value.bytes)),
               absl::StrCat(value.first, "–", value.last)});
  }
  std::fputs(table.ToString().c_str(), stdout);
  std::printf("\npeak  %s of values at once, at kernel %d of %d; %s with gaps between them\n",
              FormatBytes(static_cast<double>(memory.live_bytes)).c_str(), memory.peak,
              static_cast<int>(memory.kernels.size()),
              FormatBytes(static_cast<double>(memory.arena_bytes)).c_str());
}

// Prints the memory of intermediate values while each kernel of the plan runs, and the largest
// values at the peak.
absl::Status ShowMemory(const CommonFlags& common, const api::Model& model) {
  auto memory = api::MemoryOf(model, common.Execution());
  if (!memory.ok()) return WithFlags(memory.status(), {{"backend", "--memory"}});
  common.json ? PrintJson(ToJson(model, *memory)) : PrintMemory(*memory);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> RunShow(Arguments arguments) {
  CommonFlags common;
  std::string format = "text", plan;
  bool all_values = false, types = false, memory = false;
  Flags flags("show", "MODEL", "Prints a model.");
  flags.Choice("format", &format, {"text", "dot", "ops"}, "what to print");
  flags.Bool("values", &all_values, "text: weights in full, so that it reads back");
  flags.Bool("types", &types, "text: the type of every value");
  flags.String("plan", &plan, "BACKEND", "instead: the kernels that a back end would run");
  flags.Bool("memory", &memory, "memory of intermediate values over a run, by the plan");
  flags.Choice("backend", &common.backend, api::BackendNames(), "memory: whose plan");
  flags.Int("threads", &common.threads, "memory: threads inside a kernel");
  common.AddFusion(&flags);
  common.AddCuda(&flags);
  common.AddModel(&flags);
  flags.Note("lemma show --format dot MODEL | dot -Tsvg > model.svg draws it.");
  return ParseAndRun(&flags, arguments, "MODEL", [&](const auto& path) -> absl::StatusOr<int> {
    if (!plan.empty()) common.backend = plan;
    common.symbolic = plan.empty() && !memory && !common.json && format != "ops";
    auto model = common.Load(path);
    if (!model.ok()) return model.status();
    if (!plan.empty()) {
      if (absl::Status s = PrintPlan(common, *model); !s.ok()) return s;
    } else if (memory) {
      if (absl::Status s = ShowMemory(common, *model); !s.ok()) return s;
    } else if (common.json) {
      PrintJson(ToJson(*model));
    } else if (format == "dot") {
      std::fputs(api::GraphToDot(model->graph).c_str(), stdout);
    } else if (format == "ops") {
      PrintTable(*model);
    } else {
      PrintOptions options;
      options.elide = !all_values;
      options.types = types;
      for (const std::string& line : api::OnnxHeader(model.value())) {
        std::printf("# %s\n", line.c_str());
      }
      std::fputs(PrintGraph(model->graph, options).c_str(), stdout);
    }
    return kExitOk;
  });
}

}  // namespace lemma::cli
