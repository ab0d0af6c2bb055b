// lemma rules explain: how a rule follows from the rules of a file, or that no derivation is found.
#include "api/rules/explain.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "api/json/rules.h"
#include "api/rules/export.h"
#include "base/flags.h"
#include "base/progress_line.h"
#include "cli/common_flags.h"
#include "cli/rules/commands.h"
#include "graph/text/text.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::cli {
namespace {

struct ExplainFlags {
  api::ExplainOptions options;
  bool brief = false, json = false;
};

void PrintSteps(const std::vector<api::DerivationAtSizes>& typings) {
  std::printf("\nat %s:\n", typings[0].at.c_str());
  std::fputs(PrintGraph(typings[0].source).c_str(), stdout);
  for (const api::DerivationAtSizes::Step& step : typings[0].steps) {
    std::printf("# by %s%s\n", step.rule.c_str(), step.backward ? " backward" : "");
    std::fputs(PrintGraph(step.graph).c_str(), stdout);
  }
  for (size_t i = 1; i < typings.size(); ++i) {
    std::printf("at %s: %s\n", typings[i].at.c_str(), typings[i].summary.c_str());
  }
}

void PrintText(const std::string& file, const api::ExplainedRule& explained, bool brief) {
  const Substitution& rule = explained.rule;
  if (explained.is_member && !brief) {
    const std::string guard = GuardText(rule.where);
    std::fputs(PrintRule(rule).c_str(), stdout);
    std::printf("\nin      %s\n", file.c_str());
    std::printf("doc     %s\n", absl::StrReplaceAll(rule.doc, {{"\n", " "}}).c_str());
    std::printf("keeps   %s\n", Name(rule.contract));
    std::printf("guard   %s\n", guard.empty() ? "none" : guard.c_str());
    std::printf("proof   %s\n", explained.problem.empty() ? "current" : explained.problem.c_str());
    std::printf("others  %s\n", explained.answer.c_str());
  } else {
    std::printf("%s: %s\n", rule.name.c_str(), explained.answer.c_str());
    if (!explained.left_out.empty()) std::printf("left out: %s\n", explained.left_out.c_str());
  }
  if (explained.found && !brief) PrintSteps(explained.typings);
}

absl::StatusOr<int> Explain(const std::string& path, const std::string& what,
                            const ExplainFlags& flags) {
  api::ExplainOptions options = flags.options;
  absl::StatusOr<api::Explanations> explanations;
  {
    ProgressLine progress(flags.json);
    options.progress = [&](int done, int all) {
      progress.Show(absl::StrFormat("%d of %d rules", done, all));
    };
    explanations = api::Explain(path, what, options);
  }
  if (!explanations.ok()) return WithFlags(explanations.status());
  const int exit_status = explanations->all_follow() ? kExitOk : kExitNo;
  if (flags.json) {
    PrintJson(ToJson(*explanations));
    return exit_status;
  }
  if (!explanations->unused.empty()) {
    const auto& [name, problem] = *explanations->unused.begin();
    std::fprintf(stderr, "note: %zu of %zu rules of %s are not used, among them %s: %s\n",
                 explanations->unused.size(), explanations->file.rules.size(), path.c_str(),
                 name.c_str(), problem.c_str());
  }
  for (size_t i = 0; i < explanations->rules.size(); ++i) {
    if (i > 0 && !flags.brief) std::puts("");
    PrintText(explanations->file.name, explanations->rules[i], flags.brief);
  }
  return exit_status;
}

}  // namespace

absl::StatusOr<int> RunRulesExplain(Arguments arguments) {
  ExplainFlags explain;
  Flags flags("rules explain", "RULES WHAT",
              "Says of a rule what is known of it, and how the other proved rules of RULES give "
              "it, if they do. WHAT is a rule's name, or a file of rules.");
  flags.Int("max-steps", &explain.options.max_steps, "applications of rules in a row");
  flags.Int("max-graphs", &explain.options.max_graphs, "graphs looked at, for each of the sizes");
  flags.Int("typings", &explain.options.typings, "how many assignments of sizes to try, 1…20");
  flags.String("pruned", &explain.options.pruned, "FILE",
               "rules that were left out of RULES, by name; else X.pruned.txt beside X.txt");
  flags.Bool("brief", &explain.brief, "one line for each rule, without graphs");
  flags.Bool("json", &explain.json, "print one JSON object instead of text");
  flags.Note("Exit status 1 if a rule that is not in RULES is not found to follow from them.");
  flags.Note(
      "A derivation is shown at some sizes, distinct where possible. That a rule is true for all "
      "sizes is what lemma verify proves.");
  return ParseAndRun(&flags, arguments, [&](const Positional& words) -> absl::StatusOr<int> {
    if (words.size() != 2) {
      return absl::InvalidArgumentError(
          "RULES and WHAT, please: a file and a rule's name or another file; see lemma rules "
          "explain --help");
    }
    if (absl::Status s = explain.options.Check(); !s.ok()) return WithFlags(s);
    return Explain(words[0], words[1], explain);
  });
}

}  // namespace lemma::cli
