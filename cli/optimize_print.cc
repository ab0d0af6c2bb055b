#include "cli/optimize_print.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/why_not_text.h"

namespace lemma::cli {
namespace {

std::vector<std::pair<std::string, int>> RuleCounts(
    const std::vector<optimizer::RewriteStep>& steps) {
  std::map<std::string, int> counts;
  for (const optimizer::RewriteStep& step : steps) ++counts[step.name];
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

double GraphsPerSecond(const optimizer::SearchResult& search) {
  return static_cast<double>(search.steps) / std::max(1e-6, search.search_seconds);
}

double Ratio(int64_t after, int64_t before) {
  return static_cast<double>(after) / static_cast<double>(std::max<int64_t>(before, 1));
}

// Why it is the input that was written.
std::string WhyKept(const OptimizeFlags& flags, const Outcome& outcome) {
  const api::Acceptance& result = outcome.result.accepted;
  if (outcome.result.search.rewrites.empty() && !result.found) {
    return flags.objective == "time"     ? "no rule makes it faster"
           : flags.objective == "memory" ? "no rule makes it smaller, nor as small and faster"
                                         : "no rule makes it better";
  }
  if (!result.rejected.empty()) {
    return absl::StrCat("what the search found was dropped: ", result.rejected);
  }
  if (!result.found_bytes) return "what the search found changes more than --numerics allows";
  std::string text = "what the search found";
  if (result.found) {
    absl::StrAppendFormat(&text, " took %.3f times as long (%.3f to %.3f, %d runs)",
                          result.found->median, result.found->low, result.found->high, result.runs);
  }
  if (flags.ObjectiveOf().IsTime()) return text;
  return absl::StrFormat("%s%s in %s instead of %s", text, result.found ? "," : " runs",
                         FormatBytes(static_cast<double>(*result.found_bytes)),
                         FormatBytes(static_cast<double>(result.memory_before.planned_bytes)));
}

// Of a long front, some points evenly.
void PrintFront(const std::vector<optimizer::FrontPoint>& front) {
  if (front.empty()) return;
  constexpr size_t kMostRows = 20;
  const size_t step = (front.size() + kMostRows - 1) / kMostRows;
  TextTable table({"time and memory, predicted", "time", "peak memory", "operators"});
  for (size_t i = 0; i < front.size(); ++i) {
    const optimizer::FrontPoint& point = front[i];
    if (i % step != 0 && !point.is_best && i + 1 != front.size()) continue;
    table.Row({point.is_best ? "best" : "", FormatMs(point.cost.ms()),
               FormatBytes(static_cast<double>(point.cost.peak_bytes())), absl::StrCat(point.ops)});
  }
  std::fputs(table.ToString().c_str(), stdout);
}

Json FrontJson(const std::vector<optimizer::FrontPoint>& front) {
  Json list = Json::Array();
  for (const optimizer::FrontPoint& point : front) {
    Json json = Json::Object();
    json.Set("ms", point.cost.ms()).Set("peak_bytes", point.cost.peak_bytes());
    json.Set("operators", point.ops).Set("best", point.is_best);
    list.Add(std::move(json));
  }
  return list;
}

// Of the gain that the bound leaves room for.
double ShareOfBound(const optimizer::SearchResult& search) {
  const double all = search.initial_cost.ms() - search.bound->cost.ms();
  return all > 0 ? (search.initial_cost.ms() - search.best_cost.ms()) / all : 1;
}

void PrintBound(const optimizer::SearchResult& search) {
  if (!search.bound) return;
  const char* of = search.bound->is_of_all ? "that the rules lead to" : "that was looked at";
  std::printf(
      search.bound->is_proved
          ? "no graph %s costs less than %s, predicted: the result has %.1f %% of the gain\n"
          : "a graph %s costs %s at least, by an estimate: the result has %.1f %% of the "
            "gain\n",
      of, FormatMs(search.bound->cost.ms()).c_str(), 100 * ShareOfBound(search));
}

void PrintJson(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome) {
  const optimizer::SearchResult& p = outcome.result.search;
  const api::Acceptance& result = outcome.result.accepted;
  auto counts = [](const std::vector<optimizer::RewriteStep>& steps) {
    Json rules = Json::Object();
    for (const auto& [name, count] : RuleCounts(steps)) rules.Set(name, count);
    return rules;
  };
  Json json = Json::Object();
  json.Set("graph", input.name())
      .Set("output", flags.output)
      .Set("certificate", flags.CertificatePath())
      .Set("kept_input", result.kept_input())
      .Set("recomputed_operators", result.recomputed)
      .Set("offloaded_values", result.offloaded);
  json.Set("operators_before", input.num_ops());
  json.Set("operators_after", result.graph.num_ops());
  if (flags.replay.empty()) {
    json.Set("predicted_ms_before", p.initial_cost.ms());
    json.Set("predicted_ms_after", p.best_cost.ms());
  }
  if (!flags.ObjectiveOf().IsTime()) {
    json.Set("objective", flags.objective).Set("memory_limit", flags.memory_limit);
    json.Set("predicted_peak_bytes_before", p.initial_cost.peak_bytes());
    json.Set("predicted_peak_bytes_after", p.best_cost.peak_bytes());
  }
  if (!p.front.empty()) json.Set("front", FrontJson(p.front));
  if (!flags.device.empty()) json.Set("device", flags.device);
  if (result.measured && flags.Times()) {
    json.Set("ms_before", result.ms_before).Set("ms_after", result.ms_after);
    json.Set("ratio", result.ratio);
  }
  if (result.measured) {
    json.Set("peak_bytes_before", result.memory_before.planned_bytes);
    json.Set("peak_bytes_after", result.memory_after.planned_bytes);
    json.Set("difference", result.difference.largest).Set("allowed", result.difference.allowed);
    json.Set("compared_values", result.difference.finite);
    json.Set("output_values", result.difference.elements);
    json.Set("excuse", result.difference.excuse).Set("rejected", result.rejected);
  }
  if (result.found) {
    json.Set("found_ratio", result.found->median).Set("found_ratio_low", result.found->low);
    json.Set("found_ratio_high", result.found->high).Set("runs", result.runs);
  }
  json.Set("rules", counts(result.rewrites)).Set("search_rules", counts(p.rewrites));
  if (flags.allow_unproved) {
    Json unproved = Json::Object();
    for (const optimizer::UnprovedRule& rule : outcome.result.unproved)
      unproved.Set(rule.name, rule.problem);
    json.Set("unproved_rules_allowed", std::move(unproved));
  }
  json.Set("learned_kernels", outcome.result.calibrated);
  json.Set("graphs", p.steps).Set("search_seconds", outcome.result.search_seconds);
  json.Set("best_seconds", outcome.result.best_seconds);
  json.Set("search_start_bytes", outcome.search_start_bytes);
  json.Set("search_peak_bytes", outcome.search_peak_bytes);
  json.Set("graphs_per_second", GraphsPerSecond(p));
  json.Set("stopped", Name(p.stop));
  if (p.bound) {
    json.Set("bound_ms", p.bound->cost.ms()).Set("bound_of_all", p.bound->is_of_all);
    json.Set("bound_proved", p.bound->is_proved);
    json.Set("bound_share", ShareOfBound(p));
  }
  if (outcome.result.why_not)
    json.Set("why_not", WhyNotJson(*outcome.result.why_not, flags.numerics));
  std::puts(json.ToString().c_str());
}

void PrintTable(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome) {
  const optimizer::SearchResult& p = outcome.result.search;
  const api::Acceptance& result = outcome.result.accepted;
  auto bytes = [](int64_t n) { return FormatBytes(static_cast<double>(n)); };
  TextTable table({flags.common.backend, "before", "after", "after/before"});
  if (result.measured && flags.Times()) {
    table.Row({"time, median", FormatMs(result.ms_before), FormatMs(result.ms_after),
               absl::StrFormat("%.3f", result.kept_input() ? 1.0 : result.ratio)});
  }
  if (flags.replay.empty()) {
    table.Row({"time, predicted", FormatMs(p.initial_cost.ms()), FormatMs(p.best_cost.ms()),
               absl::StrFormat("%.3f", p.best_cost.ms() / std::max(1e-9, p.initial_cost.ms()))});
  }
  table.Row({"operators", absl::StrCat(input.num_ops()), absl::StrCat(result.graph.num_ops()), ""});
  if (result.measured) {
    table.Row({"peak memory", bytes(result.memory_before.planned_bytes),
               bytes(result.memory_after.planned_bytes),
               absl::StrFormat("%.3f", Ratio(result.memory_after.planned_bytes,
                                             result.memory_before.planned_bytes))});
  }
  if (!flags.ObjectiveOf().IsTime()) {
    table.Row(
        {"peak memory, predicted", bytes(p.initial_cost.peak_bytes()),
         bytes(p.best_cost.peak_bytes()),
         absl::StrFormat("%.3f", Ratio(p.best_cost.peak_bytes(), p.initial_cost.peak_bytes()))});
  }
  std::fputs(table.ToString().c_str(), stdout);
  if (!result.measured) {
    std::puts("not executed: the model has operators that only its own runtime knows");
  } else {
    if (!flags.replay.empty()) std::puts("not timed: steps of a certificate");
    if (!flags.device.empty()) std::printf("not timed: optimized for %s\n", flags.device.c_str());
    std::printf("compared with the operators' definitions: %s\n",
                result.difference.ToString().c_str());
  }
  std::printf("%d graphs in %.1f s, %.0f per second of processor time: %s\n",
              static_cast<int>(p.steps), outcome.result.search_seconds, GraphsPerSecond(p),
              Name(p.stop));
  PrintBound(p);
  PrintFront(p.front);
  if (outcome.result.calibrated > 0) {
    std::printf("corrected the costs of %d kernels by their times in runs that did not pay\n",
                static_cast<int>(outcome.result.calibrated));
  }
  if (result.kept_input()) {
    std::printf("kept the input: %s\n", WhyKept(flags, outcome).c_str());
  } else {
    for (const auto& [name, count] : RuleCounts(result.rewrites)) {
      const bool unproved =
          std::any_of(outcome.result.unproved.begin(), outcome.result.unproved.end(),
                      [&](const optimizer::UnprovedRule& rule) { return rule.name == name; });
      std::printf("%5d x %s%s\n", count, name.c_str(), unproved ? " (UNPROVED)" : "");
    }
    if (result.recomputed > 0) {
      std::printf("%5d operators are computed again, to save memory\n", result.recomputed);
    }
    if (result.offloaded > 0) {
      std::printf("%5d values are offloaded to the host, to save memory\n", result.offloaded);
    }
  }
  if (!outcome.result.unproved.empty()) {
    std::printf("UNPROVED rules were allowed: %s\n", Names(outcome.result.unproved).c_str());
  }
  std::printf("written to %s\n", flags.output.c_str());
  if (const std::string path = flags.CertificatePath(); !path.empty()) {
    std::printf("certificate: %s\n", path.c_str());
  }
  if (!flags.report.empty()) std::printf("report: %s\n", flags.report.c_str());
  if (outcome.result.why_not)
    std::fputs(
        WhyNotText(*outcome.result.why_not, flags.numerics, !flags.ObjectiveOf().IsTime()).c_str(),
        stdout);
}

// All there is to say if nothing is written.
void PrintWhyNot(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome) {
  const optimizer::SearchResult& search = outcome.result.search;
  if (!flags.common.json) {
    std::fputs(
        WhyNotText(*outcome.result.why_not, flags.numerics, !flags.ObjectiveOf().IsTime()).c_str(),
        stdout);
    return;
  }
  Json json = Json::Object();
  json.Set("graph", input.name());
  json.Set("predicted_ms_before", search.initial_cost.ms());
  json.Set("predicted_ms_after", search.best_cost.ms());
  json.Set("graphs", search.steps).Set("stopped", Name(search.stop));
  json.Set("why_not", WhyNotJson(*outcome.result.why_not, flags.numerics));
  std::puts(json.ToString().c_str());
}

}  // namespace

void Print(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome) {
  if (flags.output.empty()) {
    PrintWhyNot(flags, input, outcome);
  } else if (flags.common.json) {
    PrintJson(flags, input, outcome);
  } else {
    PrintTable(flags, input, outcome);
  }
}

std::string Names(const std::vector<optimizer::UnprovedRule>& rules) {
  return absl::StrJoin(rules, ", ", [](std::string* text, const optimizer::UnprovedRule& rule) {
    text->append(rule.name);
  });
}

}  // namespace lemma::cli
