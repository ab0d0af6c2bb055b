#include "api/rules/rules_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/models/model_file.h"
#include "api/rules/builtin_rules.h"
#include "base/file.h"
#include "base/flags.h"
#include "base/text_table.h"
#include "rewrite/rules/canonical_text.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {

namespace {

absl::StatusOr<RulesFile> StarterRules() {
  RulesFile file;
  file.name = "built-in starter rules";
  file.text = kBuiltinRules[0].text;
  file.is_builtin = true;
  auto rules = ParseRules(file.text, file.name);
  if (!rules.ok()) return rules.status();
  file.rules = *std::move(rules);
  return file;
}

absl::StatusOr<RulesFile> AllRules() {
  RulesFile file;
  file.name = "built-in rules";
  file.is_builtin = true;
  absl::flat_hash_set<std::string> known;
  for (const BuiltinRules* builtin = kBuiltinRules; builtin->name != nullptr; ++builtin) {
    auto rules = ParseRules(builtin->text, builtin->name);
    if (!rules.ok()) return rules.status();
    for (Substitution& rule : *rules) {
      if (!known.insert(CanonicalText(rule)).second) continue;
      if (builtin != kBuiltinRules) rule.name = absl::StrCat(builtin->name, "_", rule.name);
      file.rules.push_back(std::move(rule));
    }
    if (builtin == kBuiltinRules) file.late.first = file.rules.size();
  }
  file.late.second = file.rules.size();
  return file;
}

// Whether it has no control characters but white space; a protobuf has others in its first bytes.
bool IsText(const std::string& bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' &&
           !absl::ascii_isspace(static_cast<unsigned char>(c));
  });
}

// The entries of a list of files and sets; the path alone if it is no list.
std::vector<std::string> EntriesOf(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return {path};
  return absl::StrSplit(path, ',');
}

// The rules of several files, one after the other; of rules with the same name and text, the first.
absl::StatusOr<RulesFile> RulesOfFiles(const std::vector<std::string>& paths, RuleKinds kinds) {
  RulesFile all;
  struct Known {
    std::string file, text;
  };
  absl::flat_hash_map<std::string, Known> known;  // by name of a rule
  for (const std::string& path : paths) {
    if (path.empty()) {
      return absl::InvalidArgumentError("the list of rules has an empty name between commas");
    }
    auto file = LoadRulesFile(path, kinds);
    if (!file.ok()) return file.status();
    absl::StrAppend(&all.name, all.name.empty() ? "" : ", ", file->name);
    // All late rules are in one set, of which only the first mention counts.
    const bool has_late = file->late.first < file->late.second && all.late.first == all.late.second;
    for (size_t i = 0; i < file->rules.size(); ++i) {
      if (has_late && i == file->late.first) all.late.first = all.rules.size();
      Substitution& rule = file->rules[i];
      Known now = {file->name, PrintRule(rule)};
      const auto [other, is_new] = known.try_emplace(rule.name, now);
      if (is_new) {
        all.rules.push_back(std::move(rule));
      } else if (other->second.text != now.text) {
        return absl::InvalidArgumentError(absl::StrCat("two rules are named ", rule.name,
                                                       ", one in ", other->second.file,
                                                       " and another in ", now.file));
      }
      if (has_late && i + 1 == file->late.second) all.late.second = all.rules.size();
    }
  }
  return all;
}

}  // namespace

absl::StatusOr<RulesFile> LoadRulesFile(const std::string& path, RuleKinds kinds) {
  if (path.empty() || path == kAllRules) return AllRules();
  if (path == kStarterRules) return StarterRules();
  const std::vector<std::string> entries = EntriesOf(path);
  if (entries.size() > 1) return RulesOfFiles(entries, kinds);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder, not a file of rules"));
  }
  auto text = ReadFile(path, int64_t{1} << 28);
  if (!text.ok()) return Prefixed(path, text.status());
  if (text->empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": the file is empty"));
  if (!IsText(*text)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": is not text, so it is no file of rules; lemma prove and lemma referee compare "
        "models"));
  }
  RulesFile file;
  file.name = path;
  file.text = *std::move(text);
  auto rules = ParseRules(file.text, file.name, kinds);
  if (!rules.ok()) return rules.status();
  if (rules->empty()) return absl::InvalidArgumentError(absl::StrCat(file.name, ": has no rules"));
  file.rules = *std::move(rules);
  return file;
}

std::string TextOf(const RulesFile& file) {
  if (!file.text.empty()) return file.text;
  std::string text;
  for (const Substitution& rule : file.rules) absl::StrAppend(&text, PrintRule(rule), "\n");
  return text;
}

std::string PrunedRulesPath(const std::string& path) {
  return absl::StrCat(absl::StripSuffix(path, ".txt"), ".pruned.txt");
}

std::vector<std::string> PrunedRulesFiles(const std::string& path) {
  std::vector<std::string> files;
  std::error_code error;
  for (const std::string& entry : EntriesOf(path)) {
    if (entry.empty() || entry == kAllRules || entry == kStarterRules) continue;
    std::string pruned = PrunedRulesPath(entry);
    if (std::filesystem::exists(pruned, error)) files.push_back(std::move(pruned));
  }
  return files;
}

namespace {

// "; did you mean a, b?": the nearest name or, if none is near, some names that contain `name`.
std::string Suggestion(const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::string> near;
  if (std::string nearest = Nearest(name, known); !nearest.empty()) {
    near.push_back(std::move(nearest));
  }
  for (const std::string& candidate : known) {
    if (near.size() < 3 && absl::StrContains(candidate, name) &&
        std::find(near.begin(), near.end(), candidate) == near.end()) {
      near.push_back(candidate);
    }
  }
  return near.empty() ? "" : absl::StrCat("; did you mean ", absl::StrJoin(near, ", "), "?");
}

}  // namespace

absl::Status CheckRuleNames(const std::vector<std::string>& names, const RulesFile& file) {
  std::vector<std::string> known;
  for (const Substitution& rule : file.rules) known.push_back(rule.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("no rule named ", name, " in ", file.name, Suggestion(name, known)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<const Substitution*>> NamedRules(const RulesFile& file,
                                                            const std::vector<std::string>& names) {
  if (absl::Status s = CheckRuleNames(names, file); !s.ok()) return s;
  std::vector<const Substitution*> rules;
  for (const Substitution& rule : file.rules) {
    const bool named = std::find(names.begin(), names.end(), rule.name) != names.end();
    if (names.empty() || named) rules.push_back(&rule);
  }
  return rules;
}

std::string TableOf(const RulesFile& file) {
  TextTable table({"rule", "<record", "<contract", "<rewrites"});
  std::vector<std::string> problems;
  for (const Substitution& rule : file.rules) {
    const std::string problem = ProofProblem(rule);
    table.Row({rule.name, Name(rule.proof.verdict), Name(rule.contract),
               absl::StrCat(Operators(rule.source), " => ", Operators(rule.target))});
    if (!problem.empty()) problems.push_back(absl::StrCat(rule.name, ": ", problem, "\n"));
  }
  return absl::StrCat(table.ToString(), absl::StrJoin(problems, ""),
                      FormatCount(static_cast<int64_t>(file.rules.size()), "rule"), ", ",
                      file.rules.size() - problems.size(), " of them usable\n");
}

std::string PageOf(const std::vector<const Substitution*>& rules) {
  std::string text;
  for (const Substitution* rule : rules) {
    const std::string problem = ProofProblem(*rule);
    absl::StrAppend(&text, PrintRule(*rule), "# ",
                    problem.empty()
                        ? "usable: the proof is of this rule and of the operators as they are"
                        : absl::StrCat("not usable: ", problem),
                    "\n\n");
  }
  return text;
}

}  // namespace lemma::api
