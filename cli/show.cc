// lemma show: a model as text, as DOT, as a table of operators; its memory over a run.
#include <string>

#include "absl/strings/str_cat.h"
#include "api/draw.h"
#include "api/execution/backends.h"
#include "api/inspect.h"
#include "api/json/inspect.h"
#include "api/models/model_file.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "graph/text/text.h"

namespace lemma::cli {
namespace {

absl::Status PrintPlan(const CommonFlags& common, const api::Model& model) {
  auto plan = api::PlanOf(model, common.Execution());
  if (!plan.ok()) return plan.status();
  common.json ? PrintJson(ToJson(model, common.Execution(), *plan))
              : PrintText(api::TextOf(*plan, common.backend));
  return absl::OkStatus();
}

// Prints the memory of intermediate values while each kernel of the plan runs, and the largest
// values at the peak.
absl::Status PrintMemory(const CommonFlags& common, const api::Model& model) {
  auto memory = api::MemoryOf(model, common.Execution());
  if (!memory.ok()) return WithFlags(memory.status(), {{"backend", "--memory"}});
  common.json ? PrintJson(ToJson(model, *memory)) : PrintText(TextOf(*memory));
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
      if (absl::Status s = PrintMemory(common, *model); !s.ok()) return s;
    } else if (common.json) {
      PrintJson(ToJson(*model));
    } else if (format == "dot") {
      PrintText(api::GraphToDot(model->graph));
    } else if (format == "ops") {
      PrintText(api::OperatorTable(*model));
    } else {
      PrintOptions options;
      options.elide = !all_values;
      options.types = types;
      for (const std::string& line : api::OnnxHeader(model.value())) {
        PrintText(absl::StrCat("# ", line, "\n"));
      }
      PrintText(PrintGraph(model->graph, options));
    }
    return kExitOk;
  });
}

}  // namespace lemma::cli
