// lemma rules stats: how many rules of which kind a file has.
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/rules/rules_file.h"
#include "api/rules/stats.h"
#include "base/flags.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/rules_commands.h"

namespace lemma::cli {
namespace {

Json Counts(const std::map<std::string, int>& counts) {
  Json json = Json::Object();
  for (const auto& [name, count] : counts) json.Set(name, count);
  return json;
}

void PrintJson(const std::string& file, const api::RuleStats& stats) {
  Json sizes = Json::Array(), operators = Json::Object();
  for (const auto& [size, count] : stats.sizes) {
    Json one = Json::Object();
    one.Set("source", size.first).Set("target", size.second).Set("rules", count);
    sizes.Add(std::move(one));
  }
  for (const auto& [name, use] : stats.operators) {
    Json one = Json::Object();
    one.Set("source", use.source).Set("target", use.target);
    operators.Set(name, std::move(one));
  }
  Json json = Json::Object();
  json.Set("file", file).Set("rules", stats.rules).Set("usable", stats.usable);
  json.Set("guarded", stats.guarded).Set("several_outputs", stats.several_outputs);
  json.Set("records", Counts(stats.records)).Set("contracts", Counts(stats.contracts));
  json.Set("kinds", Counts(stats.kinds)).Set("sizes", std::move(sizes));
  json.Set("operators", std::move(operators));
  std::puts(json.ToString().c_str());
}

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
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  if (positional->size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("one file of RULES, please: '", (*positional)[1], "' is one too many"));
  }
  auto file = api::LoadRulesFile(positional->empty() ? "" : (*positional)[0]);
  if (!file.ok()) return file.status();
  const api::RuleStats stats = api::StatsOf(file->rules);
  json ? PrintJson(file->name, stats) : PrintText(stats);
  return kExitOk;
}

}  // namespace lemma::cli
