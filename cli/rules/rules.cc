// lemma rules: lists and shows rules; its other subcommands are in files of their own.
#include "api/json/rules.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/rules/export.h"
#include "api/rules/rules_file.h"
#include "base/flags.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/rules/commands.h"

namespace lemma::cli {
namespace {

// All rules if there are no names.
absl::StatusOr<int> Show(const api::RulesFile& file, const std::vector<std::string>& names,
                         bool json) {
  auto rules = api::NamedRules(file, names);
  if (!rules.ok()) return rules.status();
  json ? PrintJson(api::ToJson(file.name, *rules)) : PrintText(api::PageOf(*rules));
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunRules(Arguments arguments) {
  static const std::map<std::string, absl::StatusOr<int> (*)(Arguments)> subcommands = {
      {"explain", RunRulesExplain}, {"export", RunRulesExport}, {"import-taso", RunImportTaso},
      {"prune", RunRulesPrune},     {"show", RunRulesShow},     {"stats", RunRulesStats},
  };
  std::vector<std::string> subcommand_names;
  subcommand_names.reserve(subcommands.size());
  for (const auto& [name, run] : subcommands) subcommand_names.push_back(name);
  if (!arguments.empty()) {
    auto it = subcommands.find(arguments[0]);
    if (it != subcommands.end()) return it->second(arguments.subspan(1));
    // Of two names, the first one should have been a subcommand.
    if (arguments.size() > 1 && !absl::StartsWith(arguments[0], "-") &&
        !absl::StartsWith(arguments[1], "-")) {
      const std::string nearest = Nearest(arguments[0], subcommand_names);
      if (!nearest.empty()) {
        return absl::InvalidArgumentError(absl::StrCat("rules: unknown subcommand ", arguments[0],
                                                       "; did you mean ", nearest, "?"));
      }
    }
  }
  std::vector<std::string> names;
  bool json = false;
  Flags flags("rules", "[RULES]",
              "Lists the rules of a file, or the built-in ones, with what is recorded of their "
              "proofs.");
  flags.List("show", &names, "RULE,...", "print these rules in full instead");
  AddJson(&flags, &json);
  flags.Subcommands(std::move(subcommand_names));
  flags.Note("A file of such a name is ./show.");
  return ParseAndRun(&flags, arguments, [&](const Positional& positional) -> absl::StatusOr<int> {
    auto path = OptionalArgument("file of RULES", positional);
    if (!path.ok()) return path.status();
    auto file = api::LoadRulesFile(*path, RuleKinds::kAll);
    if (!file.ok()) return file.status();
    if (!names.empty() || json) return Show(*file, names, json);
    PrintText(TableOf(*file));
    return kExitOk;
  });
}

absl::StatusOr<int> RunRulesShow(Arguments arguments) {
  bool json = false;
  Flags flags("rules show", "RULES [NAME…]",
              "Prints the rules of a file, or those named, and whether they may be used.");
  AddJson(&flags, &json);
  return ParseAndRun(&flags, arguments, [&](const Positional& words) -> absl::StatusOr<int> {
    if (words.empty()) {
      return absl::InvalidArgumentError("which RULES? a file, please; see lemma rules show --help");
    }
    auto file = api::LoadRulesFile(words[0], RuleKinds::kAll);
    if (!file.ok()) return file.status();
    return Show(*file, {words.begin() + 1, words.end()}, json);
  });
}

}  // namespace lemma::cli
