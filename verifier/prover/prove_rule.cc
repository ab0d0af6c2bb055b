// Proves a rule form by form (rewrite/rules/statement.h).
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/work.h"
#include "rewrite/rules/batch_text.h"
#include "verifier/prover/conditions.h"
#include "verifier/prover/proof_file.h"
#include "verifier/prover/prover.h"
#include "verifier/refutation/hypotheses.h"

namespace lemma {
namespace {

// By name of a symbol that is not open in each form: its values.
using Values = std::map<std::string, std::set<std::string>>;
constexpr char kOpen[] = "any";

void AddChosen(const RuleForm& form, Values* values) {
  for (const auto& [name, value] : form.chosen) (*values)[name].insert(value);
}

// `more`: values in forms that follow from others because they only add batch dimensions.
std::string Describe(const std::vector<const RuleForm*>& bases, const Values& more) {
  Values proved;
  for (const RuleForm* form : bases) AddChosen(*form, &proved);
  for (const auto& [name, unused] : more) proved[name];
  for (auto& [name, values] : proved) {
    for (const RuleForm* form : bases) {
      if (form->chosen.count(name) == 0) values.insert(kOpen);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [name, values] : proved) {
    if (values.size() == 1 && values.count(kOpen) > 0) continue;  // only batch dimensions
    bool others = false;
    if (auto it = more.find(name); it != more.end()) {
      for (const std::string& value : it->second) others = others || values.count(value) == 0;
    }
    parts.push_back(absl::StrCat(name, " in {", absl::StrJoin(values, "; "), "}",
                                 others ? " or any that carries more dimensions along" : ""));
  }
  return absl::StrCat(parts.empty() ? "" : ": ", absl::StrJoin(parts, ", "));
}

// The requirements on sizes beyond being positive. Those that only some forms have are summarized
// in words.
std::string Requirements(const std::vector<RuleForm>& all) {
  std::map<std::string, size_t> forms_with;
  std::set<std::string> needed;
  for (const RuleForm& form : all) {
    for (const auto& [name, says] : prover::ConditionsOf(form.statement)) {
      ++forms_with[name];
      if (says) needed.insert(name);
    }
  }
  std::vector<std::string> parts;
  for (const std::string& name : needed) {
    if (forms_with[name] == all.size()) parts.push_back(name);
  }
  if (parts.size() < needed.size()) parts.push_back("what both sides require in each form");
  return parts.empty() ? "" : absl::StrCat(" with ", absl::StrJoin(parts, ", "));
}

// Charges the work of stating a rule, which is not counted step by step. It grows with the square
// of the symbols and operands, since an operand's position in a concatenation is a sum over the
// operands before it. With thousands of operands it would take minutes before the first step of a
// proof.
void CountStating(const Substitution& rule) {
  constexpr int64_t kMany = 200, kStepsPerPair = 40;
  auto size = static_cast<int64_t>(rule.symbols.size());
  for (const Pattern* pattern : {&rule.source, &rule.target}) {
    for (const PatternNode& node : pattern->nodes) size += static_cast<int64_t>(node.inputs.size());
  }
  if (size > kMany) SpendWork(std::min(size, int64_t{1} << 20) * size * kStepsPerPair);
}

// Whether the bounds of both statements, if they have any, are the same number, which does not
// depend on sizes: a size may be one of batch dimensions.
bool HaveOneBound(const Statement& a, const Statement& b) {
  if (!a.within || !b.within) return a.within.has_value() == b.within.has_value();
  std::vector<std::string> sizes, parameters;
  prover::CollectSymbols(*a.within, &sizes, &parameters);
  prover::CollectSymbols(*b.within, &sizes, &parameters);
  return sizes.empty() && a.within->ToString() == b.within->ToString();
}

Verdict ProveForms(const Substitution& rule, const ProverOptions& options) {
  CountStating(rule);
  if (rule.bound && !options.bounded) return Unknown{"the rule changes values (bounded)"};
  const RuleForms forms = FormsOf(rule, options.forms);
  if (forms.forms.empty()) return Unknown{forms.problem};
  Proved total;
  total.contract = FloatContract::kBitExact;
  Values more;
  std::vector<const RuleForm*> bases;  // forms that do not follow from an earlier one
  for (const RuleForm& form : forms.forms) {
    const bool follows = std::any_of(bases.begin(), bases.end(), [&](const RuleForm* base) {
      return HaveOneBound(form.statement, base->statement) &&
             OnlyAddsBatchDims(form.statement, base->statement);
    });
    if (follows) AddChosen(form, &more);
    // In a file that others repeat, the form gets a proof of its own.
    if (follows && !options.keep_obligations) continue;
    Verdict verdict = Prove(form.statement, options);
    if (follows && std::holds_alternative<Unknown>(verdict)) continue;
    if (auto* refuted = std::get_if<Refuted>(&verdict)) {
      refuted->values.insert(form.chosen.begin(), form.chosen.end());
      return verdict;
    }
    if (auto* unknown = std::get_if<Unknown>(&verdict)) {
      std::vector<std::string> where;
      for (const auto& [name, value] : form.chosen)
        where.push_back(absl::StrCat(name, " = ", value));
      if (where.empty()) return verdict;
      return Unknown{absl::StrCat("where ", absl::StrJoin(where, ", "), ": ", unknown->reason)};
    }
    Proved& proved = std::get<Proved>(verdict);
    total.contract = std::max(total.contract, proved.contract);
    total.queries += proved.queries;
    for (auto& query : proved.log.queries) total.log.queries.push_back(std::move(query));
    if (options.keep_obligations) {
      for (auto& line : FormLines(rule, form)) total.log.steps.push_back(std::move(line));
    }
    for (auto& step : proved.log.steps) total.log.steps.push_back(std::move(step));
    if (follows) continue;
    bases.push_back(&form);
  }
  total.coverage = absl::StrCat("all sizes >= 1", Requirements(forms.forms));
  if (forms.forms.size() > 1 || !forms.forms[0].chosen.empty()) {
    absl::StrAppend(&total.coverage, ", ", forms.forms.size(), forms.truncated ? " (limited)" : "",
                    forms.forms.size() == 1 ? " form" : " forms", Describe(bases, more));
  }
  total.id = ProofId(forms);
  return total;
}

}  // namespace

Verdict ProveRule(const Substitution& rule, const ProverOptions& options) {
  WorkScope work(options.work, options.interrupted);
  try {
    Verdict verdict = ProveForms(rule, options);
    if (auto* proved = std::get_if<Proved>(&verdict)) proved->work = work.spent();
    return verdict;
  } catch (const WorkEnded& end) {
    return Unknown{end.Reason("the forms of the rule")};
  }
}

}  // namespace lemma
