#include "api/report.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/execution/roofline.h"
#include "api/execution/timing.h"
#include "api/optimization/search_figures.h"
#include "api/report/page.h"
#include "api/rules/rules_file.h"
#include "base/text_table.h"
#include "graph/sizes/specialize.h"
#include "optimizer/cost/analytic_cost.h"

namespace lemma::api {
namespace {

// The time for timing the kernels of a graph, and for drawing, however little the search has left.
constexpr double kLateSeconds = 2;

std::string Change(const std::string& before, const std::string& after) {
  return absl::StrCat(before, " → ", after);
}

std::vector<std::pair<std::string, std::string>> FactsOf(const Graph& input,
                                                         const optimizer::SearchResult& search,
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
                       Change(FormatMs(search.initial_cost.ms()),
                              FormatMs(PredictedCost(search, accepted.rewrites).ms())));
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
  facts.emplace_back("search",
                     absl::StrCat(FormatCount(search.steps, "graph"), ": ", Name(search.stop)));
  return facts;
}

// `times`: whether the kernels are timed.
absl::StatusOr<ReportGraph> GraphOf(const Graph& graph, const OptimizeOptions& options, bool times,
                                    Backend* backend, absl::Span<const Tensor> inputs) {
  ReportGraph result;
  result.graph = graph;
  result.live_bytes = optimizer::LiveBytes(graph);
  if (!times) return result;
  CompileOptions compile;
  compile.threads = options.execution.threads;
  auto executable = backend->Compile(graph, compile);
  if (!executable.ok()) return executable.status();
  auto kernels = ProfileRuns(executable->get(), inputs, static_cast<int>(options.runs),
                             options.deadline.WithAtLeast(kLateSeconds));
  if (!kernels.ok()) return kernels.status();
  result.kernels = *std::move(kernels);
  return result;
}

void AddMemoryFacts(const OptimizeOptions& options, const optimizer::SearchResult& search,
                    Report* report) {
  if (options.objective.IsTime()) return;
  auto bytes = [](int64_t n) { return FormatBytes(static_cast<double>(n)); };
  report->facts.emplace_back("objective", GoalName(options.objective.goal));
  if (options.objective.memory_limit > 0) {
    report->facts.emplace_back("memory limit", bytes(options.objective.memory_limit));
  }
  report->facts.emplace_back(
      "peak memory, predicted",
      Change(bytes(search.initial_cost.peak_bytes()), bytes(search.best_cost.peak_bytes())));
}

ReportSummary SummaryFor(const OptimizeOptions& options, const OptimizeResult& result,
                         const ReportFiles& files) {
  const Acceptance& accepted = result.accepted;
  ReportSummary summary;
  summary.kept_input = accepted.kept_input();
  if (summary.kept_input) summary.why_kept = WhyKept(options, result);
  summary.ms_before = accepted.ms_before;
  summary.ms_after = accepted.ms_after;
  summary.ratio = accepted.found;
  summary.runs = accepted.runs;
  summary.recomputed = accepted.recomputed;
  summary.offloaded = accepted.offloaded;
  if (accepted.measured) {
    summary.peak_before = accepted.memory_before.planned_bytes;
    summary.peak_after = accepted.memory_after.planned_bytes;
    summary.outputs = accepted.difference.ToString();
  }
  if (result.certificate) summary.contract = result.certificate->contract;
  summary.output = files.output;
  summary.certificate = files.certificate;
  summary.certificate_sha256 = files.certificate_sha256;
  summary.command = files.command;
  summary.date = files.date;
  return summary;
}

std::vector<ReportStep> StepsOf(const Graph& input, const OptimizeResult& result) {
  const optimizer::StepPlaces& places = result.provenance.places;
  const Graph& output = result.accepted.graph;
  std::vector<ReportStep> steps;
  for (size_t i = 0; i < result.accepted.rewrites.size(); ++i) {
    const optimizer::RewriteStep& step = result.accepted.rewrites[i];
    steps.push_back({step.name, step.where, step.cost ? step.cost->ms() : -1});
    if (i >= places.steps.size()) continue;
    // The graphs may be at other sizes than those of the places.
    if (places.input_nodes == static_cast<int>(input.nodes().size())) {
      steps.back().replaced = places.steps[i].replaced;
    }
    if (places.output_nodes == static_cast<int>(output.nodes().size())) {
      steps.back().made = places.steps[i].made;
    }
  }
  for (const OptimizedBody& body : result.accepted.bodies) {
    for (const optimizer::RewriteStep& step : body.rewrites) {
      steps.push_back(
          {step.name, absl::StrCat("in the body of ", body.label, ": ", step.where), -1});
    }
  }
  return steps;
}

// Absent if the back end cannot measure it: then the page has no limits and shares.
std::optional<Roofline> RooflineOf(const OptimizeOptions& options, Backend* backend) {
  if (options.deadline.Passed()) return std::nullopt;
  CompileOptions compile;
  compile.threads = options.execution.threads;
  auto roofline = MeasureRoofline(backend, compile);
  if (!roofline.ok() || roofline->flops_per_second <= 0 || roofline->bytes_per_second <= 0) {
    return std::nullopt;
  }
  return *roofline;
}

absl::Status SetSizes(const DimValues& sizes, Graph* graph) {
  auto sized = Specialize(*graph, InputSizes(*graph, sizes));
  if (!sized.ok()) return sized.status();
  *graph = *std::move(sized);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReportOf(const Graph& input, absl::Span<const Tensor> inputs,
                                     const OptimizeOptions& options, const OptimizeResult& result,
                                     const ReportFiles& files) {
  if (!options.hints.empty()) {
    const DimValues& sizes = options.hints.front().sizes;
    Graph sized_input = input;
    OptimizeResult sized_result = result;
    OptimizeOptions at_sizes = options;
    at_sizes.hints.clear();
    if (absl::Status s = SetSizes(sizes, &sized_input); !s.ok()) return s;
    if (absl::Status s = SetSizes(sizes, &sized_result.accepted.graph); !s.ok()) return s;
    return ReportOf(sized_input, inputs, at_sizes, sized_result, files);
  }
  auto rules = LoadRulesFile(options.rules);
  if (!rules.ok()) return rules.status();
  auto backend = BackendFor(options);
  if (!backend.ok()) return backend.status();
  const Acceptance& accepted = result.accepted;
  Report report;
  report.title = files.model;
  report.facts = FactsOf(input, result.search, accepted);
  report.facts.insert(report.facts.end(), {{"back end", (*backend)->version()},
                                           {"numerics", NumericsName(options.numerics)},
                                           {"rules", rules->name},
                                           {"written to", files.output}});
  AddMemoryFacts(options, result.search, &report);
  report.predicted_ms = result.search.initial_cost.ms();
  report.summary = SummaryFor(options, result, files);
  report.steps = StepsOf(input, result);
  std::set<std::string> used;
  for (const ReportStep& step : report.steps) used.insert(step.rule);
  for (const Substitution& rule : rules->rules) {
    if (used.count(rule.name) > 0) report.rules.push_back(rule);
  }
  const bool times = accepted.measured && options.Times();
  auto before = GraphOf(input, options, times, backend->get(), inputs);
  if (!before.ok()) return before.status();
  report.before = *std::move(before);
  auto after = GraphOf(accepted.graph, options, times, backend->get(), inputs);
  if (!after.ok()) return after.status();
  report.after = *std::move(after);
  if (times) report.roofline = RooflineOf(options, backend->get());
  return ReportPage(report, options.deadline.WithAtLeast(kLateSeconds));
}

}  // namespace lemma::api
