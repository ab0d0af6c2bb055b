#include "tests/verifier/campaign/mutator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rewrite/rules/rule_text.h"
#include "rewrite/rules/statement.h"
#include "tests/verifier/campaign/mutate_pattern.h"
#include "tests/verifier/campaign/mutate_terms.h"

namespace lemma {
namespace {

// Changes a variable: its dimensions, its element type or its role.
std::string MutateVariable(Substitution* rule, std::mt19937_64* random) {
  PatternVar& var = rule->vars[(*random)() % rule->vars.size()];
  switch ((*random)() % 4) {
    case 0: {
      const uint64_t type = (*random)() % (kNumDTypes + 2);
      var.dtype.reset();
      if (type < kNumDTypes) var.dtype = static_cast<DType>(type);
      return absl::StrCat("another type of ", var.name);
    }
    case 1:
      var.role = var.role == VarRole::kAny ? VarRole::kWeight : VarRole::kAny;
      return absl::StrCat("another role of ", var.name);
    default: {
      const Term dims = MutatedTerm(var.dims, rule->symbols, random);
      if (dims.kind() != Term::Kind::kList) return "";
      var.dims = dims;
      return absl::StrCat("other dimensions of ", var.name);
    }
  }
}

// Whether some form is well-formed, has outputs of the same types on both sides, and has two sides
// that are written differently.
bool IsClaim(const Substitution& rule) {
  FormLimits one;
  one.max_forms = 1;
  for (const RuleForm& form : FormsOf(rule, one).forms) {
    const Definition &a = form.statement.source, &b = form.statement.target;
    if (a.outputs.size() != b.outputs.size()) return false;
    for (size_t o = 0; o < a.outputs.size(); ++o) {
      const ExprType x = a.TypeOf(a.outputs[o]), y = b.TypeOf(b.outputs[o]);
      if (x.dtype != y.dtype || x.rank() != y.rank()) return false;
    }
    return a.ToString() != b.ToString();
  }
  return false;
}

std::string MutateOnce(Substitution* rule, std::mt19937_64* random) {
  const uint64_t kind = (*random)() % 16;
  if (kind < 8) return MutateSide(*rule, &rule->target, random);
  if (kind < 11) return MutateSide(*rule, &rule->source, random);
  if (kind < 13) return MutateBothSides(rule, random);
  if (kind < 15) return MutateVariable(rule, random);
  return MutateGuard(&rule->where, rule->symbols, random) ? "another guard" : "";
}

}  // namespace

Mutator::Mutator(std::vector<std::vector<Substitution>> families, uint64_t seed)
    : families_(std::move(families)), random_(seed) {}

RuleMutant Mutator::Draw() {
  while (true) {
    ++tries_;
    if (auto mutant = TryOnce()) return *std::move(mutant);
  }
}

std::optional<RuleMutant> Mutator::TryOnce() {
  const std::vector<Substitution>& family = families_[random_() % families_.size()];
  Substitution rule = family[random_() % family.size()];
  std::string what = rule.name;
  const uint64_t sides = random_() % 6;
  if (sides == 0) {
    rule.target = rule.source;
    what += ", both sides its source";
  } else if (sides == 1) {
    rule.source = rule.target;
    what += ", both sides its target";
  } else if (sides < 4) {
    std::swap(rule.source, rule.target);
    what += ", reversed";
  }
  bool changed = false;
  for (uint64_t changes = 1 + random_() % 4; changes > 0; --changes) {
    const std::string change = MutateOnce(&rule, &random_);
    if (change.empty()) continue;
    absl::StrAppend(&what, "; ", change);
    changed = true;
  }
  if (!changed) return std::nullopt;
  Tidy(&rule.source);
  Tidy(&rule.target);
  rule.name = "mutant";
  rule.doc.clear();
  rule.proof = {};
  rule.contract = FloatContract::kRealOnly;
  const std::string text = PrintRule(rule);
  // The reader rejects rules that make no sense.
  auto read = ParseRules(text);
  if (!read.ok() || read->size() != 1 || !drawn_.insert(text).second) return std::nullopt;
  if (!IsClaim((*read)[0])) return std::nullopt;
  return RuleMutant{std::move((*read)[0]), text, what};
}

}  // namespace lemma
