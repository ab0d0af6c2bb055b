// lemma rules stats: counts a file's rules by kind.
#include "api/rules/stats.h"

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/json/rules.h"
#include "api/rules/rules_file.h"
#include "base/flags.h"
#include "base/text_table.h"
#include "cli/common_flags.h"
#include "cli/rules/commands.h"

namespace lemma::cli {
namespace {

void PrintCounts(const char* what, const std::map<std::string, int>& counts) {
  for (const auto& [name, count] : counts) {
    std::printf("%-10s %-16s %6d\n", what, name.c_str(), count);
    what = "";
  }
}

void PrintText(const api::RuleStats& stats) {
  std::printf("%d rules, %d of them usable, %d with a guard, %d with several outputs\n\n",
              stats.rules, stats.usable, stats.guarded, stats.several_outputs);
  PrintCounts("record", stats.records);
  PrintCounts("contract", stats.contracts);
  PrintCounts("kind", stats.kinds);
  std::puts("");
  TextTable sizes({"operators of the source", "of the target", "rules"});
  for (const auto& [size, count] : stats.sizes) {
    sizes.Row({absl::StrCat(size.first), absl::StrCat(size.second), absl::StrCat(count)});
  }
  std::puts(sizes.ToString().c_str());
  TextTable operators({"operator", "rules with it in the source", "in the target"});
  for (const auto& [name, use] : stats.operators) {
    operators.Row({name, absl::StrCat(use.source), absl::StrCat(use.target)});
  }
  std::fputs(operators.ToString().c_str(), stdout);
}

}  // namespace

absl::StatusOr<int> RunRulesStats(Arguments arguments) {
  bool json = false;
  Flags flags("rules stats", "[RULES]", "Counts the rules of a file, or the built-in ones.");
  flags.Bool("json", &json, "print one JSON object instead of text");
  flags.Note(
      "A record is stale if the rule, or an operator's definition, is not what was proved. A rule "
      "associates if both sides have the same operators, of one kind; commutes if of several.");
  return ParseAndRun(&flags, arguments, [&](const Positional& positional) -> absl::StatusOr<int> {
    auto path = OptionalArgument("file of RULES", positional);
    if (!path.ok()) return path.status();
    auto file = api::LoadRulesFile(*path, RuleKinds::kAll);
    if (!file.ok()) return file.status();
    const api::RuleStats stats = api::StatsOf(file->rules);
    json ? PrintJson(ToJson(file->name, stats)) : PrintText(stats);
    return kExitOk;
  });
}

}  // namespace lemma::cli
