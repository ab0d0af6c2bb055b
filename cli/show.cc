// lemma show: a model as text, as DOT, as a table of operators; its memory over a run.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/graph_dot.h"
#include "cli/show_memory.h"
#include "graph/text/text.h"
#include "kernels/loops/cost.h"

namespace lemma::cli {
namespace {

struct OpRow {
  int64_t count = 0;
  double flops = 0, bytes = 0;
};

std::map<std::string, OpRow> OpRows(const Graph& graph) {
  std::map<std::string, OpRow> rows;
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    OpRow& row = rows[node->op().name];
    ++row.count;
    auto definition = DefinitionOf(*node);
    auto work = definition.ok() ? CountWork(*definition) : definition.status();
    if (!work.ok()) continue;
    row.flops += work->flops;
    row.bytes += work->bytes_read + work->bytes_written;
  }
  return rows;
}

int64_t WeightBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const NodePtr& node : graph.nodes()) {
    const bool is_weight =
        node->kind() == Node::Kind::kWeight || node->kind() == Node::Kind::kConstant;
    if (is_weight) bytes += node->type(0).num_bytes();
  }
  return bytes;
}

Json Ports(const std::vector<std::string>& names, const std::vector<Value>& values) {
  Json ports = Json::Array();
  for (size_t i = 0; i < names.size(); ++i) {
    Json port = Json::Object();
    port.Set("name", names[i]).Set("type", values[i].type().ToString());
    ports.Add(std::move(port));
  }
  return ports;
}

void PrintJson(const api::Model& model) {
  const Graph& graph = model.graph;
  Json ops = Json::Object();
  for (const auto& [name, row] : OpRows(graph)) {
    Json op = Json::Object();
    op.Set("count", row.count).Set("flops", row.flops).Set("bytes", row.bytes);
    ops.Set(name, std::move(op));
  }
  Json json = Json::Object();
  json.Set("graph", graph.name()).Set("format", Name(model.format));
  json.Set("inputs", Ports(graph.input_names(), graph.inputs()));
  json.Set("outputs", Ports(graph.output_names(), graph.outputs()));
  json.Set("operators", graph.num_ops()).Set("weight_bytes", WeightBytes(graph));
  json.Set("hash", absl::StrCat(absl::Hex(graph.StructuralHash(), absl::kZeroPad16)));
  json.Set("by_operator", std::move(ops));
  std::puts(json.ToString().c_str());
}

void PrintTable(const api::Model& model) {
  const Graph& graph = model.graph;
  std::printf("%s (%s): %d operators, %s of weights\n", graph.name().c_str(), Name(model.format),
              graph.num_ops(), FormatBytes(static_cast<double>(WeightBytes(graph))).c_str());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    std::printf("  input  %s: %s\n", graph.input_names()[i].c_str(),
                graph.inputs()[i].type().ToString().c_str());
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    std::printf("  output %s: %s\n", graph.output_names()[i].c_str(),
                graph.outputs()[i].type().ToString().c_str());
  }
  TextTable table({"operator", "count", "Mflop", "bytes moved"});
  std::vector<std::pair<std::string, OpRow>> rows;
  for (const auto& row : OpRows(graph)) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.flops > b.second.flops; });
  for (const auto& [name, row] : rows) {
    char flops[32];
    std::snprintf(flops, sizeof flops, "%.1f", row.flops * 1e-6);
    table.Row({name, absl::StrCat(row.count), flops, FormatBytes(row.bytes)});
  }
  std::fputs(table.ToString().c_str(), stdout);
}

// What a back end would run, and the memory it needs.
absl::Status PrintPlan(const CommonFlags& common, const Graph& graph) {
  auto backend = common.MakeBackend();
  if (!backend.ok()) return backend.status();
  CompileOptions options;
  options.threads = static_cast<int>(common.threads);
  auto plan = (*backend)->Plan(graph, options);
  if (!plan.ok()) return plan.status();
  if (common.json) {
    Json json = Json::Object();
    json.Set("graph", graph.name()).Set("backend", common.backend).Set("kernels", plan->kernels);
    json.Set("peak_bytes", plan->memory.planned_bytes);
    json.Set("live_bytes", plan->memory.live_bytes);
    json.Set("weight_bytes", plan->memory.weight_bytes);
    std::puts(json.ToString().c_str());
    return absl::OkStatus();
  }
  std::fputs(plan->text.c_str(), stdout);
  std::printf("%d kernels on %s, peak memory %s of values, %s of weights\n", plan->kernels,
              common.backend.c_str(),
              FormatBytes(static_cast<double>(plan->memory.planned_bytes)).c_str(),
              FormatBytes(static_cast<double>(plan->memory.weight_bytes)).c_str());
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
  common.AddReuse(&flags);
  common.AddModel(&flags);
  flags.Note("lemma show --format dot MODEL | dot -Tsvg > model.svg draws it.");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  auto path = OneArgument("MODEL", *positional);
  if (!path.ok()) return path.status();
  if (!plan.empty()) common.backend = plan;
  auto model = common.Load(*path);
  if (!model.ok()) return model.status();
  if (!plan.empty()) {
    absl::Status printed = PrintPlan(common, model->graph);
    if (!printed.ok()) return api::Prefixed(*path, printed);
  } else if (memory) {
    auto measurer = common.MakeMeasurer();
    if (measurer == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("--memory: the back end ", common.backend, " makes no plan"));
    }
    absl::Status shown = ShowMemory(model->graph, measurer.get(), common.json);
    if (!shown.ok()) return api::Prefixed(*path, shown);
  } else if (common.json) {
    PrintJson(*model);
  } else if (format == "dot") {
    std::fputs(GraphToDot(model->graph).c_str(), stdout);
  } else if (format == "ops") {
    PrintTable(*model);
  } else {
    PrintOptions options;
    options.elide = !all_values;
    options.types = types;
    std::fputs(PrintGraph(model->graph, options).c_str(), stdout);
  }
  return kExitOk;
}

}  // namespace lemma::cli
