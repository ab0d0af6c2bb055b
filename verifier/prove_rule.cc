// A rule is proved form by form (rewrite/statement.h).
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "verifier/proof_file.h"
#include "verifier/prover.h"

namespace lemma {
namespace {

std::string Describe(const std::map<std::string, std::set<std::string>>& covered) {
  std::vector<std::string> parts;
  for (const auto& [name, values] : covered) {
    parts.push_back(absl::StrCat(name, " in {", absl::StrJoin(values, "; "), "}"));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

Verdict ProveRule(const Substitution& rule, const ProverOptions& options) {
  const RuleForms forms = FormsOf(rule, options.forms);
  if (forms.forms.empty()) return Unknown{forms.problem};
  Proved total;
  total.contract = FloatContract::kBitExact;
  std::map<std::string, std::set<std::string>> covered;
  for (const RuleForm& form : forms.forms) {
    Verdict verdict = Prove(form.statement, options);
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
    if (forms.forms.size() == 1) total.coverage = proved.coverage;
    for (auto& query : proved.log.queries) total.log.queries.push_back(std::move(query));
    if (options.keep_obligations) {
      for (auto& line : FormLines(rule, form)) total.log.steps.push_back(std::move(line));
    }
    for (auto& step : proved.log.steps) total.log.steps.push_back(std::move(step));
    for (const auto& [name, value] : form.chosen) covered[name].insert(value);
  }
  if (forms.forms.size() > 1 || !covered.empty()) {
    total.coverage = absl::StrCat(total.coverage.empty() ? "all sizes >= 1" : total.coverage, ", ",
                                  forms.forms.size(), forms.truncated ? " (limited)" : "",
                                  " forms: ", Describe(covered));
  }
  total.id = ProofId(forms);
  return total;
}

}  // namespace lemma
