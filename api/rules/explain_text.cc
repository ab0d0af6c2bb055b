// How rules follow from others, as text.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/rules/explain.h"
#include "graph/text/text.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {
namespace {

std::string StepsText(const std::vector<DerivationAtSizes>& typings) {
  std::string text = absl::StrCat("\nat ", typings[0].at, ":\n", PrintGraph(typings[0].source));
  for (const DerivationAtSizes::Step& step : typings[0].steps) {
    absl::StrAppend(&text, "# by ", step.rule, step.backward ? " backward" : "", "\n",
                    PrintGraph(step.graph));
  }
  for (size_t i = 1; i < typings.size(); ++i) {
    absl::StrAppend(&text, "at ", typings[i].at, ": ", typings[i].summary, "\n");
  }
  return text;
}

std::string RuleText(const std::string& file, const ExplainedRule& explained, bool brief) {
  const Substitution& rule = explained.rule;
  std::string text;
  if (explained.is_member && !brief) {
    const std::string guard = GuardText(rule.where);
    absl::StrAppend(&text, PrintRule(rule), "\nin      ", file, "\ndoc     ",
                    absl::StrReplaceAll(rule.doc, {{"\n", " "}}), "\nkeeps   ", Name(rule.contract),
                    "\nguard   ", guard.empty() ? "none" : guard, "\nproof   ",
                    explained.problem.empty() ? "current" : explained.problem, "\nothers  ",
                    explained.answer, "\n");
  } else {
    absl::StrAppend(&text, rule.name, ": ", explained.answer, "\n");
    if (!explained.left_out.empty()) {
      absl::StrAppend(&text, "left out: ", explained.left_out, "\n");
    }
  }
  if (explained.found && !brief) text += StepsText(explained.typings);
  return text;
}

}  // namespace

std::string TextOf(const Explanations& explanations, bool brief) {
  std::string text;
  for (const ExplainedRule& rule : explanations.rules) {
    if (!text.empty() && !brief) text += "\n";
    text += RuleText(explanations.file.name, rule, brief);
  }
  return text;
}

}  // namespace lemma::api
