// What the rules of an optimization saved, and what others would cost, as text.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/optimize.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

constexpr size_t kMostRows = 20;

// "-12.3 us ± 0.4 us".
std::string ChangeText(const Alternative& rule) {
  if (!rule.change) return "not priced";
  const double ms = rule.change->ns * 1e-6;
  std::string text = absl::StrCat(ms < 0 ? "-" : "+", FormatMs(std::abs(ms)));
  if (rule.change->error_ns > 0) {
    absl::StrAppend(&text, " ± ", FormatMs(rule.change->error_ns * 1e-6));
  }
  return text;
}

// How sure it is that the rule makes the graph faster.
std::string CertaintyText(const Alternative& rule) {
  if (!rule.change) return "";
  const double ns = rule.change->ns, error = rule.change->error_ns;
  if (rule.change->is_certain) return "cannot be slower";
  if (error == 0) return "";
  return std::abs(ns) <= 2 * error ? "within noise" : "beyond noise";
}

}  // namespace

std::string ExplanationText(const OptimizeResult& result) {
  std::string text;
  const std::vector<Alternative> applied = ChangesByRule(result.accepted.rewrites);
  if (!applied.empty()) {
    TextTable table({"applied, with the change of time by the costs of kernels", "times", "change",
                     "<certainty"});
    for (const Alternative& rule : applied) {
      table.Row({rule.rule, absl::StrCat(rule.places), ChangeText(rule), CertaintyText(rule)});
    }
    text += table.ToString();
  }
  const std::vector<Alternative>& rules = result.alternatives->rules;
  if (rules.empty()) {
    text += "no rule matches in the result\n";
  } else {
    TextTable table({"not applied, with the change of time at the best place", "places", "change",
                     "<certainty"});
    for (size_t i = 0; i < std::min(kMostRows, rules.size()); ++i) {
      table.Row({rules[i].rule, absl::StrCat(rules[i].places), ChangeText(rules[i]),
                 CertaintyText(rules[i])});
    }
    text += table.ToString();
    if (rules.size() > kMostRows) {
      absl::StrAppend(
          &text, FormatCount(static_cast<int64_t>(rules.size() - kMostRows), "more rule"),
          rules.size() == kMostRows + 1 ? " matches" : " match", "; --json lists them\n");
    }
  }
  if (!result.alternatives->is_complete) text += "not all places were priced: the time was over\n";
  return text;
}

}  // namespace lemma::api
