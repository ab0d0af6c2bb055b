// lemma rules prune: a file of rules without those that the others give.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/models/model_file.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/json.h"
#include "cli/common_flags.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "cli/rules_commands.h"
#include "rewrite/derivation/prune.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::cli {
namespace {

struct PruneFlags {
  std::string output;
  int64_t max_steps = 4, max_graphs = 2000;
  bool json = false;
};

// What stands above the first rule, up to an empty line: how the file was made.
std::string Header(const std::string& text) {
  if (text.empty() || text[0] != '#') return "";
  const size_t end = text.find("\n\n"), rule = text.find("\nrule ");
  return end == std::string::npos || rule < end ? "" : text.substr(0, end + 1);
}

// What was left out of RULES before.
absl::StatusOr<std::string> LeftOutBefore(const std::string& path) {
  std::error_code error;
  const std::string pruned = api::PrunedRulesPath(path);
  if (!std::filesystem::exists(pruned, error)) return std::string();
  auto file = api::LoadRulesFile(pruned);
  if (!file.ok()) return file.status();
  return file->text;
}

std::string WithNote(Substitution rule, const std::vector<std::string>& from) {
  if (!from.empty()) {
    absl::StrAppend(&rule.doc, rule.doc.empty() ? "" : "\n",
                    "follows from: ", absl::StrJoin(from, ", "));
  }
  return PrintRule(rule);
}

absl::StatusOr<int> Prune(const std::string& path, const PruneFlags& flags) {
  const std::string pruned_path = api::PrunedRulesPath(flags.output);
  for (const std::string& written : {flags.output, pruned_path}) {
    if (absl::Status s = CheckWritable(written); !s.ok()) return s;
  }
  auto file = api::LoadRulesFile(path);
  if (!file.ok()) return file.status();
  for (const Substitution& rule : file->rules) {
    const std::string problem = ProofProblem(rule);
    if (problem.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ": rule ", rule.name,
                                                   " gives nothing: ", problem, "; lemma verify ",
                                                   path, " -o ", path, " puts records right"));
  }
  const std::vector<Substitution>& rules = file->rules;
  auto left_out = LeftOutBefore(path);
  if (!left_out.ok()) return left_out.status();
  InterruptScope interrupt;
  PruneOptions options;
  options.limits.max_steps = static_cast<int>(flags.max_steps);
  options.limits.max_graphs = flags.max_graphs;
  Pruned pruned;
  {
    ProgressLine progress(flags.json);
    options.go_on = [&](int done) {
      progress.Show(absl::StrFormat("%d of %d to %d rules", done, rules.size(), 2 * rules.size()));
      return !interrupt.flag();
    };
    pruned = PruneRules(rules, options);
  }
  if (interrupt.flag()) return InterruptedError();
  std::string kept = Header(file->text);
  for (int i : pruned.kept) absl::StrAppend(&kept, kept.empty() ? "" : "\n", PrintRule(rules[i]));
  std::sort(pruned.left_out.begin(), pruned.left_out.end(),
            [](const auto& a, const auto& b) { return a.rule < b.rule; });
  for (const Pruned::LeftOut& one : pruned.left_out) {
    std::vector<std::string> from;
    for (int i : one.from) {
      if (std::find(from.begin(), from.end(), rules[i].name) == from.end()) {
        from.push_back(rules[i].name);
      }
    }
    absl::StrAppend(&*left_out, left_out->empty() ? "" : "\n", WithNote(rules[one.rule], from));
  }
  if (absl::Status s = WriteFileAtomically(flags.output, {kept}); !s.ok()) return s;
  if (!left_out->empty()) {
    if (absl::Status s = WriteFileAtomically(pruned_path, {*left_out}); !s.ok()) return s;
  }
  if (flags.json) {
    Json json = Json::Object();
    json.Set("file", path).Set("rules", static_cast<int>(rules.size()));
    json.Set("kept", static_cast<int>(pruned.kept.size()));
    json.Set("left_out", static_cast<int>(pruned.left_out.size()));
    std::puts(json.ToString().c_str());
  } else {
    std::printf("%zu rules: %zu kept, %zu follow from them%s\n", rules.size(), pruned.kept.size(),
                pruned.left_out.size(),
                left_out->empty() ? "" : absl::StrCat(" and are in ", pruned_path).c_str());
  }
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunRulesPrune(Arguments arguments) {
  PruneFlags prune;
  Flags flags("rules prune", "RULES -o OUT",
              "Writes the rules that the others do not give; those that they do go to a file "
              "beside it, X.pruned.txt for X.txt, after those of RULES's own. All of RULES must be "
              "proved.");
  flags.String("output|o", &prune.output, "OUT", "where to write what is kept");
  flags.Int("max-steps", &prune.max_steps, "applications of rules in a row");
  flags.Int("max-graphs", &prune.max_graphs, "graphs looked at, for each rule and its sizes");
  flags.Bool("json", &prune.json, "print one JSON object instead of text");
  flags.Note(
      "A rule is left out if rules that are kept give it at some distinct sizes, with no looser a "
      "float contract. Ctrl-C ends it; nothing is written then.");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  auto path = OneArgument("RULES", *positional);
  if (!path.ok()) return path.status();
  if (prune.output.empty()) return absl::InvalidArgumentError("where to? -o OUT");
  if (prune.max_steps < 1 || prune.max_steps > 64) {
    return absl::InvalidArgumentError("--max-steps: must be in 1…64");
  }
  if (prune.max_graphs < 1 || prune.max_graphs > int64_t{1} << 30) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-graphs: must be in 1…", int64_t{1} << 30));
  }
  return Prune(*path, prune);
}

}  // namespace lemma::cli
