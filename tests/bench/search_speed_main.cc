// Runs a search on one model and prints its result and speed: one line of JSON.
//
//   search_speed MODEL [--search=STRATEGY] [--nodes=N] [--rules=FILE]
//   [--budget=N] [--seconds=S] [--alpha=A] [--cost-db=FILE]
//
// MODEL is an ONNX file or a graph's text. With --cost-db costs are measured ones (the CPU back
// end, one thread), otherwise estimates.
#include <sys/resource.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "optimizer/cost/analytic_cost.h"
#include "optimizer/cost/measured_cost.h"
#include "optimizer/search/rewrite_filter.h"
#include "optimizer/strategies/strategies.h"
#include "runtime/cpu/cpu_backend.h"

namespace lemma {
namespace {

struct Flags {
  std::string model, rules = "data/rules/starter.txt", cost_db;
  optimizer::StrategyOptions options;
  std::string search_name = "backtracking";
};

Flags Parse(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--rules=")) {
      flags.rules = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--cost-db=")) {
      flags.cost_db = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--budget=")) {
      (void)absl::SimpleAtoi(arg, &flags.options.search.limits.max_steps);
    } else if (absl::ConsumePrefix(&arg, "--seconds=")) {
      (void)absl::SimpleAtod(arg, &flags.options.search.limits.max_seconds);
    } else if (absl::ConsumePrefix(&arg, "--search=")) {
      flags.search_name = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--nodes=")) {
      (void)absl::SimpleAtoi(arg, &flags.options.max_nodes);
    } else if (absl::ConsumePrefix(&arg, "--alpha=")) {
      (void)absl::SimpleAtod(arg, &flags.options.search.alpha);
    } else {
      flags.model = std::string(arg);
    }
  }
  return flags;
}

absl::StatusOr<Graph> Load(const std::string& path) {
  if (absl::EndsWith(path, ".onnx")) {
    auto imported = ImportOnnx(path);
    if (!imported.ok()) return imported.status();
    return imported->graph;
  }
  std::ifstream file(path, std::ios::binary);
  return ParseGraph(std::string(std::istreambuf_iterator<char>(file), {}));
}

absl::Status Main(const Flags& flags) {
  const optimizer::Strategy* strategy = optimizer::FindStrategy(flags.search_name);
  if (strategy == nullptr) return absl::InvalidArgumentError("no strategy has this name");
  auto graph = Load(flags.model);
  if (!graph.ok()) return graph.status();
  auto rules = RuleSet::Load(flags.rules);
  if (!rules.ok()) return rules.status();
  std::unique_ptr<KernelMeasurer> measurer;
  std::unique_ptr<optimizer::CostDb> db;
  std::unique_ptr<optimizer::CostModel> costs = optimizer::MakeAnalyticCostModel();
  if (!flags.cost_db.empty()) {
    auto opened = optimizer::CostDb::Open(flags.cost_db);
    if (!opened.ok()) return opened.status();
    db = *std::move(opened);
    measurer = MakeCpuMeasurer(1);
    costs = optimizer::MakeMeasuredCostModel(measurer.get(), db.get());
  }
  const std::unique_ptr<RewriteSource> usable =
      optimizer::Filtered(rules->get(), optimizer::RewriteFilter());
  const std::clock_t start = std::clock();
  std::clock_t best_at = start;
  int64_t best = 0;
  auto watch = [&](const optimizer::SearchProgress& progress) {
    if (progress.best.ns() != best) best_at = std::clock();
    best = progress.best.ns();
    return true;
  };
  auto result = strategy->make(usable.get(), costs.get(), flags.options)->Run(*graph, watch);
  if (!result.ok()) return result.status();
  auto seconds = [&](std::clock_t t) { return static_cast<double>(t - start) / CLOCKS_PER_SEC; };
  const double all = seconds(std::clock());
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"model\":\"%s\",\"operators\":%d,\"operators_after\":%d,\"ms_before\":%.6f,"
      "\"descent_rewrites\":%d,\"ms_after\":%.6f,\"rewrites\":%zu,\"graphs\":%lld,\"cpu_seconds\":%"
      ".3f,"
      "\"search_cpu_seconds\":%.3f,\"best_at\":%.3f,\"graphs_per_second\":%.0f,\"stopped\":\"%s\","
      "\"bound_ms\":%.6f,\"peak_mb\":%ld,\"hash\":\"%016llx\"}\n",
      flags.model.c_str(), graph->num_ops(), result->best.num_ops(), result->initial_cost.ms(),
      static_cast<int>(result->descended_rewrites.size()), result->best_cost.ms(),
      result->rewrites.size(), static_cast<long long>(result->steps), all, result->search_seconds,
      seconds(best_at), static_cast<double>(result->steps) / result->search_seconds,
      Name(result->stop), result->bound ? result->bound->cost.ms() : 0.0, usage.ru_maxrss / 1024,
      static_cast<unsigned long long>(result->best.StructuralHash()));
  return absl::OkStatus();
}

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) {
  absl::Status status = lemma::Main(lemma::Parse(argc, argv));
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
