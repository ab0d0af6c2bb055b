// lemma rules: lists and shows rules, and brings TASO's.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/import_taso.h"
#include "cli/json.h"
#include "cli/proof_outcome.h"
#include "cli/rules_file.h"
#include "cli/text_table.h"
#include "rewrite/proof_check.h"
#include "rewrite/rule_text.h"

namespace lemma::cli {
namespace {

// "concat + matmul + split".
std::string Operators(const Pattern& pattern) {
  std::vector<std::string> names;
  for (const PatternNode& node : pattern.nodes) {
    if (node.op != nullptr) names.push_back(node.op->name);
  }
  return names.empty() ? "nothing" : absl::StrJoin(names, " + ");
}

Json RuleJson(const Substitution& rule, const std::string& problem) {
  Json json = Json::Object();
  json.Set("rule", rule.name).Set("contract", Name(rule.contract)).Set("doc", rule.doc);
  json.Set("source", Operators(rule.source)).Set("target", Operators(rule.target));
  json.Set("record", Name(rule.proof.verdict)).Set("usable", problem.empty());
  if (rule.proof.verdict == ProofRecord::Verdict::kProved) {
    json.Set("proved_contract", Name(rule.proof.contract));
  }
  json.Set("id", rule.proof.id).Set("detail", rule.proof.detail).Set("problem", problem);
  json.Set("text", PrintRule(rule));
  return json;
}

int List(const RulesFile& file, bool json) {
  Json list = Json::Array();
  TextTable table({"rule", "<record", "<contract", "<rewrites"});
  std::vector<std::string> problems;
  for (const Substitution& rule : file.rules) {
    const std::string problem = ProofProblem(rule);
    list.Add(RuleJson(rule, problem));
    table.Row({rule.name, Name(rule.proof.verdict), Name(rule.contract),
               absl::StrCat(Operators(rule.source), " => ", Operators(rule.target))});
    if (!problem.empty()) problems.push_back(absl::StrCat(rule.name, ": ", problem));
  }
  if (json) {
    Json all = Json::Object();
    all.Set("file", file.name).Set("rules", std::move(list));
    std::puts(all.ToString().c_str());
    return kExitOk;
  }
  std::fputs(table.ToString().c_str(), stdout);
  for (const std::string& problem : problems) std::puts(problem.c_str());
  std::printf("%zu rules, %zu of them usable\n", file.rules.size(),
              file.rules.size() - problems.size());
  return kExitOk;
}

int Show(const RulesFile& file, const std::vector<std::string>& names, bool json) {
  Json list = Json::Array();
  for (const Substitution& rule : file.rules) {
    if (std::find(names.begin(), names.end(), rule.name) == names.end()) continue;
    const std::string problem = ProofProblem(rule);
    list.Add(RuleJson(rule, problem));
    if (json) continue;
    std::fputs(PrintRule(rule).c_str(), stdout);
    std::printf("# %s\n\n", problem.empty() ? "usable: the proof is of this rule and of the "
                                              "operators as they are"
                                            : absl::StrCat("not usable: ", problem).c_str());
  }
  if (json) {
    Json all = Json::Object();
    all.Set("file", file.name).Set("rules", std::move(list));
    std::puts(all.ToString().c_str());
  }
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunRules(Arguments arguments) {
  if (!arguments.empty() && arguments[0] == "import-taso") {
    return RunImportTaso(arguments.subspan(1));
  }
  std::vector<std::string> names;
  bool json = false;
  Flags flags("rules", "[RULES]",
              "Lists the rules of a file, or the built-in ones, with what is recorded of their "
              "proofs.");
  flags.List("show", &names, "RULE,...", "print these rules in full instead");
  flags.Bool("json", &json, "print one JSON object instead of text");
  flags.Note("lemma rules import-taso FILE -o RULES reads rules in TASO's format; see its --help.");
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
  auto file = LoadRulesFile(positional->empty() ? "" : (*positional)[0]);
  if (!file.ok()) return file.status();
  if (names.empty()) return List(*file, json);
  if (absl::Status s = CheckRuleNames(names, *file); !s.ok()) return s;
  return Show(*file, names, json);
}

}  // namespace lemma::cli
