// lemma rules stats: counts a file's rules by kind.
#include "api/rules/stats.h"

#include "api/json/rules.h"
#include "api/rules/rules_file.h"
#include "base/flags.h"
#include "cli/common_flags.h"
#include "cli/rules/commands.h"

namespace lemma::cli {
absl::StatusOr<int> RunRulesStats(Arguments arguments) {
  bool json = false;
  Flags flags("rules stats", "[RULES]", "Counts the rules of a file, or the built-in ones.");
  AddJson(&flags, &json);
  flags.Note(
      "A record is stale if the rule, or an operator's definition, is not what was proved. A rule "
      "associates if both sides have the same operators, of one kind; commutes if of several.");
  return ParseAndRun(&flags, arguments, [&](const Positional& positional) -> absl::StatusOr<int> {
    auto path = OptionalArgument("file of RULES", positional);
    if (!path.ok()) return path.status();
    auto file = api::LoadRulesFile(*path, RuleKinds::kAll);
    if (!file.ok()) return file.status();
    const api::RuleStats stats = api::StatsOf(file->rules);
    json ? PrintJson(ToJson(file->name, stats)) : PrintText(TextOf(stats));
    return kExitOk;
  });
}

}  // namespace lemma::cli
