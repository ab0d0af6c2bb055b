#include "cli/optimize_report.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/execution/timing.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "base/text_table.h"
#include "cli/report.h"
#include "optimizer/cost/analytic_cost.h"

namespace lemma::cli {
namespace {

// For timing the kernels of a graph, and for drawing, whatever time the search has left.
constexpr double kLateSeconds = 2;

std::string Change(const std::string& before, const std::string& after) {
  return absl::StrCat(before, " → ", after);
}

std::vector<std::pair<std::string, std::string>> FactsOf(const Graph& input,
                                                         const optimizer::SearchResult& search,
                                                         const api::Acceptance& accepted) {
  std::vector<std::pair<std::string, std::string>> facts;
  if (accepted.ms_before > 0) {
    facts.emplace_back("time, median",
                       Change(FormatMs(accepted.ms_before), FormatMs(accepted.ms_after)));
  }
  if (accepted.found) {
    facts.emplace_back(
        accepted.kept_input() ? "what was found, to the input (not kept)" : "after to before",
        absl::StrFormat("%.3f (%.3f to %.3f, %d runs)", accepted.found->median, accepted.found->low,
                        accepted.found->high, accepted.runs));
  }
  if (search.initial_cost.ns() > 0) {  // steps of a certificate have no price
    facts.emplace_back("time, predicted",
                       Change(FormatMs(search.initial_cost.ms()), FormatMs(search.best_cost.ms())));
  }
  facts.emplace_back("operators",
                     Change(absl::StrCat(input.num_ops()), absl::StrCat(accepted.graph.num_ops())));
  if (accepted.measured) {
    auto bytes = [](const MemoryUse& m) {
      return FormatBytes(static_cast<double>(m.planned_bytes));
    };
    facts.emplace_back("peak memory",
                       Change(bytes(accepted.memory_before), bytes(accepted.memory_after)));
    facts.emplace_back("outputs", accepted.difference.ToString());
  }
  facts.emplace_back("search", absl::StrCat(search.steps, " graphs: ", Name(search.stop)));
  return facts;
}

// `times`: whether its kernels are.
absl::StatusOr<ReportGraph> GraphOf(const Graph& graph, const OptimizeFlags& flags, bool times,
                                    Backend* backend, absl::Span<const Tensor> inputs,
                                    const Deadline& deadline) {
  ReportGraph result;
  result.graph = graph;
  result.live_bytes = optimizer::LiveBytes(graph);
  if (!times) return result;
  CompileOptions compile;
  compile.threads = static_cast<int>(flags.common.threads);
  auto executable = backend->Compile(graph, compile);
  if (!executable.ok()) return executable.status();
  auto kernels = api::ProfileRuns(executable->get(), inputs, static_cast<int>(flags.runs),
                                  deadline.NotWithin(kLateSeconds));
  if (!kernels.ok()) return kernels.status();
  result.kernels = *std::move(kernels);
  return result;
}

}  // namespace

absl::Status StageReport(const OptimizeFlags& flags, const std::string& model, const Graph& input,
                         const api::OptimizeResult& result, absl::Span<const Tensor> inputs,
                         const Deadline& deadline, std::vector<StagedFile>* files) {
  if (flags.report.empty()) return absl::OkStatus();
  auto file = api::LoadRulesFile(flags.rules);
  if (!file.ok()) return file.status();
  auto backend = api::BackendFor(flags.Options());
  if (!backend.ok()) return backend.status();
  const api::Acceptance& accepted = result.accepted;
  Report report;
  report.title = model;
  report.facts = FactsOf(input, result.search, accepted);
  report.facts.insert(report.facts.end(), {{"back end", (*backend)->version()},
                                           {"numerics", flags.numerics},
                                           {"rules", file->name},
                                           {"written to", flags.output}});
  if (!flags.ObjectiveOf().IsTime()) {
    auto bytes = [](int64_t n) { return FormatBytes(static_cast<double>(n)); };
    report.facts.emplace_back("objective", flags.objective);
    if (flags.memory_limit > 0)
      report.facts.emplace_back("memory limit", bytes(flags.memory_limit));
    report.facts.emplace_back("peak memory, predicted",
                              Change(bytes(result.search.initial_cost.peak_bytes()),
                                     bytes(result.search.best_cost.peak_bytes())));
  }
  report.predicted_ms = result.search.initial_cost.ms();
  std::set<std::string> used;
  for (const optimizer::RewriteStep& step : accepted.rewrites) {
    report.steps.push_back({step.name, step.where, step.cost ? step.cost->ms() : -1});
    used.insert(step.name);
  }
  for (const Substitution& rule : file->rules) {
    if (used.count(rule.name) > 0) report.rules.push_back(rule);
  }
  const bool times = accepted.measured && flags.Times();
  auto before = GraphOf(input, flags, times, backend->get(), inputs, deadline);
  if (!before.ok()) return before.status();
  report.before = *std::move(before);
  auto after = GraphOf(accepted.graph, flags, times, backend->get(), inputs, deadline);
  if (!after.ok()) return after.status();
  report.after = *std::move(after);
  auto page = ReportPage(report, deadline.NotWithin(kLateSeconds));
  if (!page.ok()) return page.status();
  auto staged = StagedFile::Write(flags.report, {*page});
  if (staged.ok()) files->push_back(*std::move(staged));
  return staged.status();
}

}  // namespace lemma::cli
