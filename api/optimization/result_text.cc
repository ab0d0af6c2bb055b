// The result of an optimization as text.
#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/optimization/search_figures.h"
#include "api/optimize.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

using optimizer::Objective;

std::string Bytes(int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

std::string Ratio(int64_t after, int64_t before) {
  return absl::StrFormat(
      "%.3f", static_cast<double>(after) / static_cast<double>(std::max<int64_t>(before, 1)));
}

// "0.3 % faster, within noise (±0.8 %)". `ratio` is the time of a graph divided by the time of the
// input.
std::string PairedText(const RatioInterval& ratio) {
  const double gain = 100 * (1 - ratio.median), noise = 50 * (ratio.high - ratio.low);
  std::string text = absl::StrFormat("%.1f %% %s", std::abs(gain), gain >= 0 ? "faster" : "slower");
  const bool is_noise = ratio.low <= 1 && ratio.high >= 1;
  absl::StrAppendFormat(&text, "%s (±%.1f %%)", is_noise ? ", within noise" : "", noise);
  return text;
}

// What the times of the table are, where that is not obvious: "" otherwise.
std::string TimesText(const OptimizeOptions& options, const Acceptance& accepted) {
  if (!accepted.measured || !options.Times()) return "";
  std::string text;
  const double quotient = accepted.ms_after / std::max(1e-9, accepted.ms_before);
  if (!accepted.kept_input() && std::abs(quotient - accepted.ratio) > 0.01) {
    text += "time, after/before: the median of the ratios of runs side by side\n";
  }
  if (options.hints.size() > 1) {
    absl::StrAppend(&text, "time, median: at the first hint; predicted: the sum over ",
                    options.hints.size(), " hints\n");
  }
  return text;
}

std::string TableText(const Graph& input, const OptimizeOptions& options,
                      const OptimizeResult& result) {
  const optimizer::SearchResult& search = result.search;
  const Acceptance& accepted = result.accepted;
  TextTable table({options.execution.backend, "before", "after", "after/before"});
  if (accepted.measured && options.Times()) {
    table.Row({"time, median", FormatMs(accepted.ms_before), FormatMs(accepted.ms_after),
               absl::StrFormat("%.3f", accepted.kept_input() ? 1.0 : accepted.ratio)});
  }
  if (options.replay.empty()) {
    const double before = search.initial_cost.ms();
    const double after = PredictedCost(search, accepted.rewrites).ms();
    table.Row({"time, predicted", FormatMs(before), FormatMs(after),
               absl::StrFormat("%.3f", after / std::max(1e-9, before))});
  }
  table.Row(
      {"operators", absl::StrCat(input.num_ops()), absl::StrCat(accepted.graph.num_ops()), ""});
  if (accepted.measured && !IsTarget(options.execution.backend)) {
    const int64_t before = accepted.memory_before.planned_bytes;
    const int64_t after = accepted.memory_after.planned_bytes;
    table.Row({"peak memory", Bytes(before), Bytes(after), Ratio(after, before)});
  }
  if (!options.objective.IsTime()) {
    const int64_t before = search.initial_cost.peak_bytes(), after = search.best_cost.peak_bytes();
    table.Row({"peak memory, predicted", Bytes(before), Bytes(after), Ratio(after, before)});
  }
  return table.ToString();
}

// How the result was executed, or why not.
std::string ExecutionText(const OptimizeOptions& options, const Acceptance& accepted) {
  if (!accepted.measured) {
    return absl::StrCat("nothing was executed",
                        options.by_price ? ", the result was accepted by its price" : "", ": ",
                        accepted.why_not_measured, "\n");
  }
  std::string text;
  if (!options.replay.empty()) text += "not timed: steps of a certificate\n";
  if (const std::string& device = options.costs.device; !device.empty()) {
    absl::StrAppend(&text, "not timed: optimized for ", device, "\n");
  }
  absl::StrAppend(&text, "compared with the ",
                  accepted.has_definitions ? "operators' definitions" : "input as executed", ": ",
                  accepted.difference.ToString(), "\n");
  return text;
}

std::string BoundText(const optimizer::SearchResult& search) {
  if (!search.bound) return "";
  const char* of =
      search.bound->covers_all_graphs ? "that the rules lead to" : "that was looked at";
  const std::string cost = FormatMs(search.bound->cost.ms());
  const std::string bound =
      search.bound->is_proved
          ? absl::StrCat("no graph ", of, " costs less than ", cost, ", predicted")
          : absl::StrCat("a graph ", of, " costs ", cost, " at least, by an estimate");
  return absl::StrFormat("%s: the result has %.1f %% of the gain\n", bound,
                         100 * ShareOfBound(search));
}

// If the front is long, evenly spaced points of it.
std::string FrontText(const std::vector<optimizer::FrontPoint>& front) {
  if (front.empty()) return "";
  constexpr size_t kMostRows = 20;
  const size_t step = (front.size() + kMostRows - 1) / kMostRows;
  TextTable table({"time and memory, predicted", "time", "peak memory", "operators"});
  for (size_t i = 0; i < front.size(); ++i) {
    const optimizer::FrontPoint& point = front[i];
    if (i % step != 0 && !point.is_best && i + 1 != front.size()) continue;
    table.Row({point.is_best ? "best" : "", FormatMs(point.cost.ms()),
               Bytes(point.cost.peak_bytes()), absl::StrCat(point.ops)});
  }
  return table.ToString();
}

// What happened to the graph.
std::string ChangesText(const OptimizeOptions& options, const OptimizeResult& result) {
  const Acceptance& accepted = result.accepted;
  if (accepted.kept_input()) {
    return absl::StrCat("kept the input: ", WhyKept(options, result), "\n");
  }
  std::string text;
  for (const auto& [rule, count] : RuleCounts(accepted.rewrites)) {
    const std::string& name = rule;  // clang captures no structured binding
    const bool unproved =
        std::any_of(result.unproved.begin(), result.unproved.end(),
                    [&](const optimizer::UnprovedRule& other) { return other.name == name; });
    absl::StrAppendFormat(&text, "%5d x %s%s\n", count, name, unproved ? " (UNPROVED)" : "");
  }
  for (const OptimizedBody& body : accepted.bodies) {
    absl::StrAppendFormat(&text, "in the body of loop %s, %d operators instead of %d:\n",
                          body.label, body.operators_after, body.operators_before);
    for (const auto& [rule, count] : RuleCounts(body.rewrites)) {
      absl::StrAppendFormat(&text, "%5d x %s\n", count, rule);
    }
  }
  if (const int count = accepted.recomputed; count > 0) {
    absl::StrAppendFormat(&text, "%5d operator%s computed again, to save memory\n", count,
                          count == 1 ? " is" : "s are");
  }
  if (const int count = accepted.offloaded; count > 0) {
    absl::StrAppendFormat(&text, "%5d value%s offloaded to the host, to save memory\n", count,
                          count == 1 ? " is" : "s are");
  }
  return text;
}

}  // namespace

std::string WhyKept(const OptimizeOptions& options, const OptimizeResult& result) {
  const Acceptance& accepted = result.accepted;
  const optimizer::SearchResult& search = result.search;
  if (!accepted.rejected.empty()) {
    return absl::StrCat("what the search found was dropped: ", accepted.rejected);
  }
  if (search.rewrites.empty() && !accepted.found) {
    switch (options.objective.goal) {
      case Objective::Goal::kTime:
        return "no rule makes it faster";
      case Objective::Goal::kMemory:
        return "no rule makes it smaller, nor as small and faster";
      default:
        return "no rule makes it better";
    }
  }
  if (options.by_price) return "what the search found does not pay by its price";
  if (!accepted.found_bytes) return "what the search found changes more than --numerics allows";
  const bool for_time = options.objective.IsTime();
  std::string text = absl::StrCat("the best of ", FormatCount(search.steps, "graph"));
  if (for_time && search.initial_cost.ns() > 0) {
    absl::StrAppendFormat(&text, ", predicted %.1f %% faster,",
                          100 - 100 * search.best_cost.ms() / search.initial_cost.ms());
  }
  if (accepted.found) {
    absl::StrAppendFormat(&text, " was %s in %d runs", PairedText(*accepted.found), accepted.runs);
    if (accepted.found->high < 1) text += ", less than the 0.5 % that counts";
  }
  if (for_time) return text;
  return absl::StrCat(text, accepted.found ? "," : " runs", " in ", Bytes(*accepted.found_bytes),
                      " instead of ", Bytes(accepted.memory_before.planned_bytes));
}

std::string NamesOf(const std::vector<optimizer::UnprovedRule>& rules) {
  return absl::StrJoin(rules, ", ", [](std::string* text, const optimizer::UnprovedRule& rule) {
    text->append(rule.name);
  });
}

std::string TextOf(const Graph& input, const OptimizeOptions& options, const OptimizeResult& result,
                   const OptimizeContext& context) {
  const optimizer::SearchResult& search = result.search;
  std::string text;
  if (!context.output.empty()) {
    absl::StrAppend(&text, TableText(input, options, result), TimesText(options, result.accepted),
                    ExecutionText(options, result.accepted));
    absl::StrAppendFormat(&text, "%s in %.1f s, %.0f per second of processor time: %s\n",
                          FormatCount(search.steps, "graph"), result.search_seconds,
                          GraphsPerSecond(search), Name(search.stop));
    if (result.priced_late) {
      text +=
          "the time was up before all kernels were measured: predicted times are too high; run it "
          "again, or with more --seconds\n";
    }
    absl::StrAppend(&text, BoundText(search), FrontText(search.front));
    if (result.calibrated > 0) {
      absl::StrAppend(&text, "corrected the costs of ", FormatCount(result.calibrated, "kernel"),
                      " by their times in runs that did not pay\n");
    }
    text += ChangesText(options, result);
    if (!result.unproved.empty()) {
      absl::StrAppend(&text, "UNPROVED rules were allowed: ", NamesOf(result.unproved), "\n");
    }
    absl::StrAppend(&text, "written to ", context.output, "\n");
    if (!context.certificate.empty()) {
      absl::StrAppend(&text, "certificate: ", context.certificate, "\n");
    }
    if (!context.report.empty()) absl::StrAppend(&text, "report: ", context.report, "\n");
  }
  if (result.alternatives) text += ExplanationText(result);
  if (result.why_not) {
    text += TextOf(*result.why_not, context.excluded, /*memory=*/!options.objective.IsTime());
  }
  return text;
}

}  // namespace lemma::api
