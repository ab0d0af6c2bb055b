#include "cli/optimize/print.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/json/optimize.h"
#include "api/json/quantize.h"
#include "api/optimization/search_figures.h"
#include "base/text_table.h"
#include "cli/common_flags.h"
#include "cli/optimize/explain_text.h"
#include "cli/optimize/why_not_text.h"

namespace lemma::cli {
namespace {

double Ratio(int64_t after, int64_t before) {
  return static_cast<double>(after) / static_cast<double>(std::max<int64_t>(before, 1));
}

// Why the input was written and no other graph.
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
  if (flags.execution == "off") return "what the search found does not pay by its price";
  if (!result.found_bytes) return "what the search found changes more than --numerics allows";
  const optimizer::SearchResult& search = outcome.result.search;
  std::string text = absl::StrFormat("the best of %d graphs", static_cast<int>(search.steps));
  if (flags.ObjectiveOf().IsTime() && search.initial_cost.ns() > 0) {
    absl::StrAppendFormat(&text, ", predicted %.1f %% faster,",
                          100 - 100 * search.best_cost.ms() / search.initial_cost.ms());
  }
  if (result.found) {
    absl::StrAppendFormat(&text, " was %s in %d runs", PairedText(*result.found), result.runs);
    if (result.found->high < 1) text += ", less than the 0.5 % that counts";
  }
  if (flags.ObjectiveOf().IsTime()) return text;
  return absl::StrFormat("%s%s in %s instead of %s", text, result.found ? "," : " runs",
                         FormatBytes(static_cast<double>(*result.found_bytes)),
                         FormatBytes(static_cast<double>(result.memory_before.planned_bytes)));
}

// If the front is long, prints evenly spaced points of it.
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

void PrintBound(const optimizer::SearchResult& search) {
  if (!search.bound) return;
  const char* of =
      search.bound->covers_all_graphs ? "that the rules lead to" : "that was looked at";
  std::printf(
      search.bound->is_proved
          ? "no graph %s costs less than %s, predicted: the result has %.1f %% of the gain\n"
          : "a graph %s costs %s at least, by an estimate: the result has %.1f %% of the "
            "gain\n",
      of, FormatMs(search.bound->cost.ms()).c_str(), 100 * api::ShareOfBound(search));
}

void PrintTable(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome) {
  const optimizer::SearchResult& p = outcome.result.search;
  const api::Acceptance& result = outcome.result.accepted;
  auto bytes = [](int64_t n) { return FormatBytes(static_cast<double>(n)); };
  TextTable table({flags.common.backend, "before", "after", "after/before"});
  if (result.measured && flags.Options().Times()) {
    table.Row({"time, median", FormatMs(result.ms_before), FormatMs(result.ms_after),
               absl::StrFormat("%.3f", result.kept_input() ? 1.0 : result.ratio)});
  }
  if (flags.replay.empty()) {
    const double before = p.initial_cost.ms();
    const double after = api::PredictedCost(p, result.rewrites).ms();
    table.Row({"time, predicted", FormatMs(before), FormatMs(after),
               absl::StrFormat("%.3f", after / std::max(1e-9, before))});
  }
  table.Row({"operators", absl::StrCat(input.num_ops()), absl::StrCat(result.graph.num_ops()), ""});
  if (result.measured && flags.target == "lemma") {
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
    std::printf("nothing was executed%s: %s\n",
                flags.execution == "off" ? ", the result was accepted by its price" : "",
                result.why_not_measured.c_str());
  } else {
    if (!flags.replay.empty()) std::puts("not timed: steps of a certificate");
    if (!flags.device.empty()) std::printf("not timed: optimized for %s\n", flags.device.c_str());
    std::printf("compared with the %s: %s\n",
                result.has_definitions ? "operators' definitions" : "input as executed",
                result.difference.ToString().c_str());
  }
  std::printf("%d graphs in %.1f s, %.0f per second of processor time: %s\n",
              static_cast<int>(p.steps), outcome.result.search_seconds, api::GraphsPerSecond(p),
              Name(p.stop));
  if (outcome.result.priced_late) {
    std::puts(
        "the time was up before all kernels were measured: predicted times are too high; run it "
        "again, or with more --seconds");
  }
  PrintBound(p);
  PrintFront(p.front);
  if (outcome.result.calibrated > 0) {
    std::printf("corrected the costs of %d kernels by their times in runs that did not pay\n",
                static_cast<int>(outcome.result.calibrated));
  }
  if (result.kept_input()) {
    std::printf("kept the input: %s\n", WhyKept(flags, outcome).c_str());
  } else {
    for (const auto& [rule, count] : api::RuleCounts(result.rewrites)) {
      const std::string& name = rule;  // clang captures no structured binding
      const bool unproved =
          std::any_of(outcome.result.unproved.begin(), outcome.result.unproved.end(),
                      [&](const optimizer::UnprovedRule& other) { return other.name == name; });
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
}

std::string WhyNotOf(const OptimizeFlags& flags, const Outcome& outcome) {
  return WhyNotText(*outcome.result.why_not, flags.numerics, !flags.ObjectiveOf().IsTime());
}

Json JsonOf(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome) {
  api::OptimizeContext context = {flags.output, flags.CertificatePath(), outcome.search_start_bytes,
                                  outcome.search_peak_bytes, ""};
  const auto& why_not = outcome.result.why_not;
  if (why_not) context.excluded = Exclusion(*why_not, flags.numerics);
  return flags.output.empty() ? api::WhyNotJson(input, outcome.result, context.excluded)
                              : ToJson(input, flags.Options(), outcome.result, context);
}

}  // namespace

void Print(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome) {
  if (flags.common.json) {
    PrintJson(JsonOf(flags, input, outcome));
  } else {
    if (!flags.output.empty()) PrintTable(flags, input, outcome);
    if (outcome.result.alternatives) std::fputs(ExplainText(outcome.result).c_str(), stdout);
    if (outcome.result.why_not) std::fputs(WhyNotOf(flags, outcome).c_str(), stdout);
  }
}

void PrintQuantized(const OptimizeFlags& flags, const Graph& input, const Outcome& outcome,
                    const std::string& output, const api::QuantizedIfFaster& quantized) {
  const auto& result = quantized.quantized;
  if (flags.common.json) {
    Json member = Json::Object();
    member.Set("output", output);
    member.Set("kept", quantized.kept.empty() ? Json() : Json(quantized.kept));
    member.Set("result", result ? ToJson(flags.output, output, *result) : Json());
    Json object = JsonOf(flags, input, outcome);
    object.Set("quantized", std::move(member));
    PrintJson(object);
    return;
  }
  std::puts("");
  if (result) std::fputs(TextOf(*result, false).c_str(), stdout);
  if (quantized.kept.empty()) {
    std::puts(
        "bounds are of single operators: a bound of the whole model would grow with each layer, "
        "and say nothing");
  } else {
    std::printf("kept the model in f32: %s\n", quantized.kept.c_str());
  }
  std::printf("written to %s\n", output.c_str());
}

std::string Names(const std::vector<optimizer::UnprovedRule>& rules) {
  return absl::StrJoin(rules, ", ", [](std::string* text, const optimizer::UnprovedRule& rule) {
    text->append(rule.name);
  });
}

}  // namespace lemma::cli
