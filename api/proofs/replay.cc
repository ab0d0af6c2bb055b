#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/rules/rules_file.h"
#include "api/verify.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "verifier/prover/proof_file.h"

namespace lemma::api {
namespace {

ReplayedRule ReplayRule(const Substitution& rule, const std::string& folder) {
  ReplayedRule result;
  result.rule = rule;
  const std::string path = absl::StrCat(folder, "/", FileNameOf(rule.name), ".proof");
  auto text = ReadFile(path, int64_t{1} << 30);
  if (!text.ok()) {
    result.problem = absl::StrCat("there is no proof ", path);
    return result;
  }
  result.checked = checker::CheckRule(rule);
  result.replayed = checker::ReplayProof(*text, rule);
  if (result.checked.answer == checker::Checked::Answer::kDiffers) {
    result.problem = absl::StrCat("its sides differ: ", result.checked.detail);
  } else if (!result.replayed.accepted) {
    result.problem = absl::StrCat(path, ": ", result.replayed.problem);
  }
  return result;
}

}  // namespace

int64_t ReplayResult::accepted() const {
  return std::count_if(rules.begin(), rules.end(),
                       [](const ReplayedRule& rule) { return rule.problem.empty(); });
}

absl::StatusOr<ReplayResult> Replay(const std::string& rules, const std::string& folder,
                                    const ReplayOptions& options) {
  auto file = LoadRulesFile(rules);
  if (!file.ok()) return file.status();
  auto asked = NamedRules(*file, options.only);
  if (!asked.ok()) return asked.status();
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat(folder, ": no such folder"));
  }
  ReplayResult result;
  result.file = file->name;
  for (const Substitution* rule : *asked) {
    if (options.interrupted != nullptr && *options.interrupted) return InterruptedError();
    if (options.progress) options.progress(rule->name);
    result.rules.push_back(ReplayRule(*rule, folder));
  }
  return result;
}

}  // namespace lemma::api
