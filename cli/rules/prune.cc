// lemma rules prune: writes a file of rules without those that follow from the others.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/json/rules.h"
#include "api/rules/prune_file.h"
#include "base/flags.h"
#include "base/interrupt.h"
#include "base/progress_line.h"
#include "cli/common_flags.h"
#include "cli/rules/commands.h"

namespace lemma::cli {
namespace {

absl::StatusOr<int> Prune(const std::string& path, api::PruneFileOptions options, bool json) {
  InterruptScope interrupt;
  options.interrupted = &interrupt.flag();
  absl::StatusOr<api::PrunedFile> pruned;
  {
    ProgressLine progress(json);
    options.progress = [&](int done, int rules) {
      progress.Show(absl::StrFormat("%d of %d to %d rules", done, rules, 2 * rules));
    };
    pruned = api::PruneFile(path, options);
  }
  if (absl::IsFailedPrecondition(pruned.status())) {
    return absl::FailedPreconditionError(absl::StrCat(pruned.status().message(), "; lemma verify ",
                                                      path, " -o ", path, " puts records right"));
  }
  if (!pruned.ok()) return WithFlags(pruned.status());
  json ? PrintJson(ToJson(path, *pruned)) : PrintText(TextOf(*pruned));
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunRulesPrune(Arguments arguments) {
  api::PruneFileOptions prune;
  bool json = false;
  Flags flags("rules prune", "RULES -o OUT",
              "Writes the rules that the others do not give; those that they do go to a file "
              "beside it, X.pruned.txt for X.txt, after those of RULES's own. All of RULES must be "
              "proved.");
  flags.String("output|o", &prune.output, "OUT", "where to write what is kept");
  flags.Int("max-steps", &prune.max_steps, "applications of rules in a row");
  flags.Int("max-graphs", &prune.max_graphs, "graphs looked at, for each rule and its sizes");
  AddJson(&flags, &json);
  flags.Note(
      "A rule is left out if rules that are kept give it at some distinct sizes, with no looser a "
      "float contract. Ctrl-C ends it; nothing is written then.");
  return ParseAndRun(&flags, arguments, "RULES", [&](const auto& path) -> absl::StatusOr<int> {
    if (prune.output.empty()) return absl::InvalidArgumentError("where to? -o OUT");
    if (absl::Status s = prune.Check(); !s.ok()) return WithFlags(s);
    return Prune(path, prune, json);
  });
}

}  // namespace lemma::cli
