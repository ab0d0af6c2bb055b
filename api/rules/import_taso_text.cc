// TASO's rules, decided, as text.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/proofs/outcome_text.h"
#include "api/rules/import_taso.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

const char* WordOf(const ImportedRule& rule) {
  return rule.guarded() ? "guarded" : Word(rule.outcome.verdict);
}

std::string RuleTable(const std::vector<ImportedRule>& rules) {
  TextTable table({"rule", "<verdict", "<contract", "<guard", "time"});
  for (const ImportedRule& rule : rules) {
    table.Row({rule.rule.name, WordOf(rule),
               IsProved(rule.outcome.verdict) ? Name(rule.rule.contract) : "", rule.guard,
               FormatMs(rule.outcome.seconds * 1e3)});
  }
  return table.ToString();
}

// Why guards are needed, and what is wrong with the rule.
std::string Remarks(const ImportedRule& rule) {
  std::string text;
  auto add = [&](const auto&... words) {
    absl::StrAppend(&text, rule.rule.name, ": ", words..., "\n");
  };
  if (!rule.guard.empty()) add("without its guard ", Explanation(rule.without_guard));
  for (const std::string& problem : Problems(rule.outcome)) add(problem);
  if (!rule.note.empty()) add(rule.note);
  return text;
}

}  // namespace

std::string TextOf(const ImportedTaso& imported, const std::string& output) {
  std::string text = RuleTable(imported.rules);
  std::map<std::string, int> words;
  int64_t written = 0;
  std::vector<const ProofOutcome*> outcomes;
  for (const ImportedRule& rule : imported.rules) {
    text += Remarks(rule);
    ++words[WordOf(rule)];
    written += rule.written ? 1 : 0;
    outcomes.push_back(&rule.outcome);
  }
  absl::StrAppendFormat(
      &text, "%s: %d proved, %d proved under a guard, %d refuted, %d unknown; %.1f s\n",
      FormatCount(static_cast<int64_t>(imported.rules.size()), "rule"), words["proved"],
      words["guarded"], words["refuted"], words["unknown"], imported.seconds);
  if (!imported.solver.empty()) {
    absl::StrAppend(&text, RecheckSummary(imported.solver, outcomes), "\n");
  }
  if (!output.empty()) {
    absl::StrAppend(&text, FormatCount(written, "rule"), " written to ", output, "\n");
  }
  return text;
}

}  // namespace lemma::api
