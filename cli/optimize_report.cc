#include "cli/optimize_report.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/text_table.h"
#include "cli/timing.h"
#include "optimizer/analytic_cost.h"

namespace lemma::cli {
namespace {

std::string Change(const std::string& before, const std::string& after) {
  return absl::StrCat(before, " → ", after);
}

std::vector<std::pair<std::string, std::string>> FactsOf(const Graph& input,
                                                         const SearchResult& search,
                                                         const Acceptance& accepted) {
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
    facts.emplace_back("largest output difference",
                       absl::StrCat(FormatError(accepted.difference.largest), ", allowed ",
                                    FormatError(accepted.difference.allowed)));
  }
  facts.emplace_back("search", absl::StrCat(search.steps, " graphs: ", Name(search.stop)));
  return facts;
}

absl::StatusOr<ReportGraph> GraphOf(const Graph& graph, const ReportOptions& options,
                                    Backend* backend, absl::Span<const Tensor> inputs) {
  ReportGraph result;
  result.graph = graph;
  result.live_bytes = LiveBytes(graph);
  if (options.runs == 0) return result;
  CompileOptions compile;
  compile.threads = options.threads;
  auto executable = backend->Compile(graph, compile);
  if (!executable.ok()) return executable.status();
  auto kernels = ProfileRuns(executable->get(), inputs, options.runs);
  if (!kernels.ok()) return kernels.status();
  result.kernels = *std::move(kernels);
  return result;
}

}  // namespace

absl::StatusOr<Report> MakeReport(const ReportOptions& options, const Graph& input,
                                  const SearchResult& search, const Acceptance& accepted,
                                  const std::vector<Substitution>& rules, Backend* backend,
                                  absl::Span<const Tensor> inputs) {
  Report report;
  report.title = options.title;
  report.facts = FactsOf(input, search, accepted);
  report.facts.insert(report.facts.end(), options.facts.begin(), options.facts.end());
  report.predicted_ms = search.initial_cost.ms();
  std::set<std::string> used;
  for (const RewriteStep& step : accepted.rewrites) {
    report.steps.push_back({step.name, step.where, step.cost ? step.cost->ms() : -1});
    used.insert(step.name);
  }
  for (const Substitution& rule : rules) {
    if (used.count(rule.name) > 0) report.rules.push_back(rule);
  }
  auto before = GraphOf(input, options, backend, inputs);
  if (!before.ok()) return before.status();
  report.before = *std::move(before);
  auto after = GraphOf(accepted.graph, options, backend, inputs);
  if (!after.ok()) return after.status();
  report.after = *std::move(after);
  return report;
}

}  // namespace lemma::cli
