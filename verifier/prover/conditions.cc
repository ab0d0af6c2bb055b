#include "verifier/prover/conditions.h"

#include <algorithm>
#include <set>

#include "verifier/normal_form/build_form.h"

namespace lemma::prover {

std::map<std::string, bool> ConditionsOf(const Statement& statement) {
  Leaves leaves;
  NormalForms forms(&leaves);
  Arith arith(&leaves);
  const LeafMap as_they_are;
  FormBuilder builder(&forms, statement.source, Laws::kNone, as_they_are);
  Facts sizes;
  for (const ExprType& input : statement.source.inputs) {
    for (const IndexExpr& dim : input.dims) sizes.push_back(Fact::Ge(builder.Index(dim, {}) - 1));
  }
  std::map<std::string, bool> conditions;
  for (const Guard& guard : statement.requirements) conditions[guard.ToString()] = false;
  std::set<std::vector<Facts>> seen;
  for (auto& [name, says] : conditions) {
    const auto guard =
        std::find_if(statement.requirements.begin(), statement.requirements.end(),
                     [&name = name](const Guard& g) { return g.ToString() == name; });
    std::vector<Facts> cases = builder.Cases(*guard, true, {});
    for (Facts& facts : cases) {
      for (Fact& fact : facts) fact = arith.SimplifyFact(sizes, fact);
      facts.erase(
          std::remove_if(facts.begin(), facts.end(),
                         [&](const Fact& f) { return arith.Implied(sizes, f, Effort::kSyntax); }),
          facts.end());
      std::sort(facts.begin(), facts.end());
    }
    const bool holds =
        std::any_of(cases.begin(), cases.end(), [](const Facts& facts) { return facts.empty(); });
    says = !holds && seen.insert(std::move(cases)).second;
  }
  return conditions;
}

}  // namespace lemma::prover
