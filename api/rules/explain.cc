#include "api/rules/explain.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/models/option_error.h"
#include "rewrite/derivation/derive.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {
namespace {

const Substitution* FindRule(const RulesFile& file, const std::string& name) {
  auto it = std::find_if(file.rules.begin(), file.rules.end(),
                         [&](const Substitution& rule) { return rule.name == name; });
  return it == file.rules.end() ? nullptr : &*it;
}

// The line of the rule's documentation that names the rules from which it follows.
std::string NoteOf(const Substitution& rule) {
  for (absl::string_view line : absl::StrSplit(rule.doc, '\n')) {
    if (absl::StartsWith(line, "follows from: ")) return std::string(line);
  }
  return "";
}

// The proved rules of a file, to derive with.
class Explainer {
 public:
  Explainer(const RulesFile& file, const ExplainOptions& options) : options_(options) {
    std::vector<Substitution> usable;
    for (const Substitution& rule : file.rules) {
      std::string problem = ProofProblem(rule);
      if (!problem.empty()) {
        problems_[rule.name] = std::move(problem);
        continue;
      }
      numbers_[rule.name] = static_cast<int>(usable.size());
      usable.push_back(rule);
    }
    deriver_.emplace(std::move(usable));
  }

  const std::map<std::string, std::string>& problems() const { return problems_; }
  ExplainedRule Explain(const Substitution& rule, bool is_member) const;

 private:
  DerivationAtSizes AtSizes(const Substitution& rule, const RuleDerivation::AtTyping& typing) const;
  // The answer in one line. The other members of `explained` must be set.
  std::string Answer(const ExplainedRule& explained,
                     const absl::StatusOr<RuleDerivation>& derivation) const;

  const ExplainOptions& options_;
  std::map<std::string, std::string> problems_;  // of rules that are not proved, by name
  std::map<std::string, int> numbers_;           // of the rules in `deriver_`, by name
  std::optional<Deriver> deriver_;
};

DerivationAtSizes Explainer::AtSizes(const Substitution& rule,
                                     const RuleDerivation::AtTyping& typing) const {
  DerivationAtSizes result;
  result.at = Describe(rule, typing.assignment);
  result.graphs = typing.result.graphs;
  result.found = typing.result.derivation.has_value();
  if (!result.found) return result;
  const Derivation& derivation = *typing.result.derivation;
  result.source = derivation.source;
  for (const DerivationStep& step : derivation.steps) {
    result.steps.push_back({deriver_->rules()[step.rule].name, step.backward, step.graph});
  }
  result.summary = Summary(*deriver_, derivation);
  return result;
}

std::string Explainer::Answer(const ExplainedRule& explained,
                              const absl::StatusOr<RuleDerivation>& derivation) const {
  if (!derivation.ok()) return std::string(derivation.status().message());
  if (!explained.found) return NotFound(derivation->typings.back().result);
  if (!explained.same_as.empty()) return absl::StrCat("the same as ", explained.same_as);
  const Derivation& first = *derivation->typings[0].result.derivation;
  if (first.steps.empty()) return Summary(*deriver_, first);
  return absl::StrCat("follows in ", Summary(*deriver_, first), " (",
                      Name(ContractOf(*deriver_, first)), ")");
}

ExplainedRule Explainer::Explain(const Substitution& rule, bool is_member) const {
  ExplainedRule explained;
  explained.rule = rule;
  explained.is_member = is_member;
  DeriveLimits limits;
  limits.max_steps = static_cast<int>(options_.max_steps);
  limits.max_graphs = options_.max_graphs;
  if (is_member) {
    if (auto it = problems_.find(rule.name); it != problems_.end()) explained.problem = it->second;
    if (auto it = numbers_.find(rule.name); it != numbers_.end()) limits.without.insert(it->second);
  }
  auto derivation = DeriveRule(*deriver_, rule, limits, static_cast<int>(options_.typings));
  explained.found = derivation.ok() && derivation->found();
  if (explained.found) {
    const Derivation& first = *derivation->typings[0].result.derivation;
    if (first.steps.size() == 1 && AreTheSame(rule, deriver_->rules()[first.steps[0].rule])) {
      explained.same_as = deriver_->rules()[first.steps[0].rule].name;
    }
  }
  explained.answer = Answer(explained, derivation);
  if (!derivation.ok()) return explained;
  for (const RuleDerivation::AtTyping& typing : derivation->typings) {
    explained.typings.push_back(AtSizes(rule, typing));
  }
  return explained;
}

// The files of rules removed from `path`.
absl::StatusOr<std::vector<RulesFile>> LoadLeftOut(const std::string& path,
                                                   const ExplainOptions& options) {
  std::vector<RulesFile> files;
  for (const std::string& pruned :
       options.pruned.empty() ? PrunedRulesFiles(path) : std::vector<std::string>{options.pruned}) {
    auto file = LoadRulesFile(pruned);
    if (!file.ok()) return file.status();
    files.push_back(*std::move(file));
  }
  return files;
}

// Loads `what` as a file, because no rule has that name.
absl::StatusOr<RulesFile> LoadOthers(const std::string& what, const RulesFile& file) {
  std::error_code error;
  if (std::filesystem::exists(what, error)) return LoadRulesFile(what);
  absl::Status unknown = CheckRuleNames({what}, file);
  return absl::InvalidArgumentError(
      absl::StrCat(unknown.message(), ", nor is there a file of that name"));
}

}  // namespace

absl::Status ExplainOptions::Check() const {
  for (auto [name, value, most] : {std::tuple("max_steps", max_steps, int64_t{64}),
                                   std::tuple("max_graphs", max_graphs, int64_t{1} << 30),
                                   std::tuple("typings", typings, int64_t{20})}) {
    if (value < 1 || value > most) {
      return OptionError(absl::StrCat("option ", name, ": must be in 1…", most));
    }
  }
  return absl::OkStatus();
}

bool Explanations::all_follow() const {
  return std::all_of(rules.begin(), rules.end(),
                     [](const ExplainedRule& rule) { return rule.is_member || rule.found; });
}

absl::StatusOr<Explanations> Explain(const std::string& rules, const std::string& what,
                                     const ExplainOptions& options) {
  if (absl::Status s = options.Check(); !s.ok()) return s;
  auto file = LoadRulesFile(rules);
  if (!file.ok()) return file.status();
  auto left_out = LoadLeftOut(rules, options);
  if (!left_out.ok()) return left_out.status();
  Explanations result;
  result.file = *std::move(file);
  const Explainer explainer(result.file, options);
  result.unused = explainer.problems();
  if (const Substitution* rule = FindRule(result.file, what)) {
    result.rules.push_back(explainer.Explain(*rule, true));
    return result;
  }
  for (const RulesFile& removed : *left_out) {
    const Substitution* rule = FindRule(removed, what);
    if (rule == nullptr) continue;
    result.rules.push_back(explainer.Explain(*rule, false));
    result.rules.back().left_out = NoteOf(*rule);
    return result;
  }
  auto others = LoadOthers(what, result.file);
  if (!others.ok()) return others.status();
  for (const Substitution& rule : others->rules) {
    if (options.progress) {
      options.progress(static_cast<int>(result.rules.size()),
                       static_cast<int>(others->rules.size()));
    }
    // If a rule of the file is read again, it is not derived from itself.
    const Substitution* member = FindRule(result.file, rule.name);
    const bool is_member = member != nullptr && PrintRule(*member) == PrintRule(rule);
    result.rules.push_back(explainer.Explain(rule, is_member));
  }
  return result;
}

}  // namespace lemma::api
