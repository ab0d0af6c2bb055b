#include "api/rules/prune_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/models/option_error.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/text_table.h"
#include "rewrite/derivation/prune.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {
namespace {

// The comment above the first rule, up to an empty line; it says how the file was made.
std::string Header(const std::string& text) {
  if (text.empty() || text[0] != '#') return "";
  const size_t end = text.find("\n\n"), rule = text.find("\nrule ");
  return end == std::string::npos || rule < end ? "" : text.substr(0, end + 1);
}

// The text of the rules removed earlier from the file, or from the files of a list.
absl::StatusOr<std::string> LeftOutBefore(const std::string& path) {
  const std::vector<std::string> pruned = PrunedRulesFiles(path);
  if (pruned.empty()) return std::string();
  auto file = LoadRulesFile(absl::StrJoin(pruned, ","));
  if (!file.ok()) return file.status();
  if (!file->text.empty()) return file->text;
  std::string text;
  for (const Substitution& rule : file->rules) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", PrintRule(rule));
  }
  return text;
}

absl::Status CheckProved(const std::string& path, const std::vector<Substitution>& rules) {
  for (const Substitution& rule : rules) {
    const std::string problem = ProofProblem(rule);
    if (problem.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": rule ", rule.name, " gives nothing: ", problem));
  }
  return absl::OkStatus();
}

std::string KeptText(const RulesFile& file, const Pruned& pruned) {
  std::string text = Header(file.text);
  for (int i : pruned.kept) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", PrintRule(file.rules[i]));
  }
  return text;
}

// The rule with the names of the rules from which it follows.
std::string LeftOutText(const std::vector<Substitution>& rules, const Pruned::LeftOut& one) {
  std::vector<std::string> from;
  for (int i : one.from) {
    if (std::find(from.begin(), from.end(), rules[i].name) == from.end()) {
      from.push_back(rules[i].name);
    }
  }
  Substitution rule = rules[one.rule];
  if (!from.empty()) {
    absl::StrAppend(&rule.doc, rule.doc.empty() ? "" : "\n",
                    "follows from: ", absl::StrJoin(from, ", "));
  }
  return PrintRule(rule);
}

}  // namespace

absl::Status PruneFileOptions::Check() const {
  if (output.empty()) {
    return OptionError("option output: where to write is missing");
  }
  if (max_steps < 1 || max_steps > 64) {
    return OptionError("option max_steps: must be in 1…64");
  }
  if (max_graphs < 1 || max_graphs > int64_t{1} << 30) {
    return OptionError(absl::StrCat("option max_graphs: must be in 1…", int64_t{1} << 30));
  }
  return absl::OkStatus();
}

absl::StatusOr<PrunedFile> PruneFile(const std::string& path, const PruneFileOptions& options) {
  if (absl::Status s = options.Check(); !s.ok()) return s;
  const std::string pruned_path = PrunedRulesPath(options.output);
  for (const std::string& written : {options.output, pruned_path}) {
    if (absl::Status s = CheckWritable(written); !s.ok()) return s;
  }
  auto file = LoadRulesFile(path);
  if (!file.ok()) return file.status();
  const std::vector<Substitution>& rules = file->rules;
  if (absl::Status s = CheckProved(path, rules); !s.ok()) return s;
  auto left_out = LeftOutBefore(path);
  if (!left_out.ok()) return left_out.status();
  auto interrupted = [&] { return options.interrupted != nullptr && *options.interrupted; };
  PruneOptions prune;
  prune.limits.max_steps = static_cast<int>(options.max_steps);
  prune.limits.max_graphs = options.max_graphs;
  prune.go_on = [&](int done) {
    if (options.progress) options.progress(done, static_cast<int>(rules.size()));
    return !interrupted();
  };
  Pruned pruned = PruneRules(rules, prune);
  if (interrupted()) return InterruptedError();
  std::sort(pruned.left_out.begin(), pruned.left_out.end(),
            [](const auto& a, const auto& b) { return a.rule < b.rule; });
  for (const Pruned::LeftOut& one : pruned.left_out) {
    absl::StrAppend(&*left_out, left_out->empty() ? "" : "\n", LeftOutText(rules, one));
  }
  absl::Status s = WriteFileAtomically(options.output, {KeptText(*file, pruned)});
  if (s.ok() && !left_out->empty()) s = WriteFileAtomically(pruned_path, {*left_out});
  // A file from an earlier run would be read as this one's.
  std::error_code ignored;
  if (s.ok() && left_out->empty()) std::filesystem::remove(pruned_path, ignored);
  if (!s.ok()) return s;
  return PrunedFile{static_cast<int64_t>(rules.size()), static_cast<int64_t>(pruned.kept.size()),
                    static_cast<int64_t>(pruned.left_out.size()),
                    left_out->empty() ? "" : pruned_path};
}

std::string TextOf(const PrunedFile& pruned) {
  const bool one = pruned.left_out == 1;
  std::string text = absl::StrCat(FormatCount(pruned.rules, "rule"), ": ", pruned.kept, " kept, ",
                                  pruned.left_out, one ? " follows" : " follow", " from them");
  if (!pruned.pruned_path.empty()) {
    absl::StrAppend(&text, one ? " and is in " : " and are in ", pruned.pruned_path);
  }
  return text + "\n";
}

}  // namespace lemma::api
