// lemma rules explain: how a rule follows from the rules of a file, or that no derivation is found.
#include "api/rules/explain.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_format.h"
#include "api/json/rules.h"
#include "base/flags.h"
#include "base/progress_line.h"
#include "cli/common_flags.h"
#include "cli/rules/commands.h"

namespace lemma::cli {
namespace {

struct ExplainFlags {
  api::ExplainOptions options;
  bool brief = false, json = false;
};

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
    std::fprintf(stderr, "lemma: note: %zu of %zu rules of %s are not used, among them %s: %s\n",
                 explanations->unused.size(), explanations->file.rules.size(), path.c_str(),
                 name.c_str(), problem.c_str());
  }
  PrintText(TextOf(*explanations, flags.brief));
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
  AddJson(&flags, &explain.json);
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
