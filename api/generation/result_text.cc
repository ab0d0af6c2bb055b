#include "api/generation/result_text.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graph/op_table.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {

using generator::Generated;
using generator::GeneratedRule;

namespace {

// Operators of --define in the rules, in the order of their definitions.
std::vector<absl::string_view> DefinedIn(const std::vector<GeneratedRule>& rules) {
  std::set<const OpDef*> used;
  for (const GeneratedRule& rule : rules) {
    for (const Pattern* side : {&rule.rule.source, &rule.rule.target}) {
      for (const PatternNode& node : side->nodes) used.insert(node.op);
    }
  }
  std::vector<absl::string_view> names;
  for (const OpDef* op : DefinedOps()) {
    if (used.count(op) != 0) names.push_back(op->name);
  }
  return names;
}

std::string MadeBy(const generator::RunId& run, const Generated& generated) {
  std::string text = absl::StrCat("# Made by: lemma generate --ops=", run.ops,
                                  " --max-ops=", run.max_ops, " --seed=", run.seed);
  const std::vector<absl::string_view> defined = DefinedIn(generated.rules);
  if (!defined.empty()) {
    absl::StrAppend(&text, " --define=FILE\n# FILE defines: ", absl::StrJoin(defined, ", "));
  }
  return text + "\n";
}

}  // namespace

int64_t CountNeeded(const Generated& generated) {
  return std::count_if(generated.rules.begin(), generated.rules.end(),
                       [](const GeneratedRule& rule) { return rule.follows_from.empty(); });
}

std::string RulesText(const generator::RunId& run, const Generated& generated) {
  std::string text = MadeBy(run, generated);
  for (const GeneratedRule& rule : generated.rules) {
    if (rule.follows_from.empty()) absl::StrAppend(&text, "\n", PrintRule(rule.rule));
  }
  return text;
}

std::string PrunedText(const generator::RunId& run, const Generated& generated) {
  std::string text;
  for (const GeneratedRule& rule : generated.rules) {
    if (rule.follows_from.empty()) continue;
    Substitution pruned = rule.rule;
    absl::StrAppend(&pruned.doc, "\nfollows from: ", absl::StrJoin(rule.follows_from, ", "));
    absl::StrAppend(&text, "\n", PrintRule(pruned));
  }
  if (text.empty()) return text;
  return absl::StrCat(MadeBy(run, generated), "# Its rules that follow from others.\n", text);
}

std::string RejectedText(const Generated& generated) {
  std::string text;
  for (const generator::Rejected& one : generated.rejected) {
    absl::StrAppend(&text, one.word, ": ", one.text, ": ",
                    absl::StrReplaceAll(one.reason, {{"\n", " "}}), "\n");
  }
  return text;
}

}  // namespace lemma::api
