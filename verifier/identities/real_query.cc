#include "verifier/identities/real_query.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/work.h"

namespace lemma::prover {
namespace {

constexpr size_t kMostVariables = 40, kMostTerms = 200;

std::string Real(int64_t n) {
  if (n >= 0) return absl::StrCat(n, ".0");
  return absl::StrCat("(- ", absl::StrCat(n).substr(1), ".0)");
}

bool IsOwn(const NormalForms& forms, const Summand& t, const Atom& atom) {
  return std::any_of(t.axes.begin(), t.axes.end(),
                     [&](Leaf axis) { return forms.Mentions(atom, axis); });
}

// Whether some part of the form is computed only under a condition.
bool HasConditions(Normalizer* normalizer, const NormalForm& form, const Facts& context) {
  return std::any_of(form.terms.begin(), form.terms.end(), [&](const Summand& t) {
    if (t.axes.empty() ? !t.guards.empty() : !normalizer->HasPoint(t.axes, t.guards, context)) {
      return true;
    }
    return std::any_of(t.atoms.begin(), t.atoms.end(), [&](const Atom& atom) {
      if (IsTruth(atom) || atom.Is(ScalarFn::kWhere)) return true;
      return std::any_of(atom.args.begin(), atom.args.end(), [&](const NormalFormPtr& arg) {
        return HasConditions(normalizer, *arg, context);
      });
    });
  });
}

void CollectKeys(NormalForms* forms, const NormalForm& form, std::set<std::string>* keys) {
  for (const Summand& t : form.terms) {
    for (const Atom& atom : t.atoms) {
      if (IsOwn(*forms, t, atom)) continue;
      if (atom.kind == Atom::Kind::kInverse || atom.Is(ScalarFn::kSqrt)) {
        keys->insert(forms->Key(atom));
      }
      for (const NormalFormPtr& arg : atom.args) CollectKeys(forms, *arg, keys);
    }
  }
}

}  // namespace

std::set<std::string> UnconditionalKeys(NormalForms* forms, Normalizer* normalizer,
                                        const NormalForm& form, const Facts& context) {
  std::set<std::string> keys;
  if (!HasConditions(normalizer, form, context)) CollectKeys(forms, form, &keys);
  return keys;
}

std::string RealQuery::Variable(const std::string& key, const NormalForm* form, bool* added) {
  *added = false;
  if (auto it = variables_.find(key); it != variables_.end()) return it->second;
  for (const auto& [other, name] : known_) {
    if (form == nullptr || !equality_.AreEqual(*form, other, context_)) continue;
    variables_[key] = name;
    return name;
  }
  *added = true;
  const std::string name = absl::StrCat("v", count_++);
  variables_[key] = name;
  if (form != nullptr) known_.emplace_back(*form, name);
  if (count_ > kMostVariables) too_large_ = true;
  return name;
}

bool RealQuery::Implied(const std::string& goal, const std::string& what) {
  if (too_large_) return false;
  std::string script = "(set-logic QF_NRA)\n";
  for (size_t i = 0; i < count_; ++i) {
    absl::StrAppend(&script, "(declare-const v", i, " Real)\n");
  }
  absl::StrAppend(&script, facts_, "(assert (not ", goal, "))\n");
  SpendWork(static_cast<int64_t>(script.size() / 16));
  if (arith_.solver().Check(script, rlimit_) != Satisfiable::kNo) return false;
  if (arith_.log != nullptr) arith_.log->push_back({what, script});
  return true;
}

bool RealQuery::IsZero(const NormalForm& form) {
  if (form.terms.size() > kMostTerms) return false;
  const std::string value = Value(form);
  const std::string goal = absl::StrCat("(= ", value, " 0.0)");
  if (!Implied(goal, "a sum is 0 by laws of real functions")) return false;
  // Where both sides never have a value there is nothing to prove, but nothing to gain either.
  std::vector<Obligation>* log = std::exchange(arith_.log, nullptr);
  const bool vacuous = assumed_ && Implied("false", "");
  arith_.log = log;
  return !vacuous;
}

std::string RealQuery::Value(const Poly& p) {
  if (p.overflowed()) too_large_ = true;
  std::string sum = "(+ 0.0 0.0";
  for (const auto& [m, c] : p.terms()) {
    absl::StrAppend(&sum, " (* 1.0 ", Real(c));
    for (Leaf leaf : m) {
      bool added = false;
      const std::string name = Variable(absl::StrCat("leaf ", leaf), nullptr, &added);
      if (added && arith_.Positive(context_, Poly::Of(leaf))) {
        Assume(absl::StrCat("(>= ", name, " 1.0)"));
      }
      absl::StrAppend(&sum, " ", name);
    }
    sum += ")";
  }
  return sum + ")";
}

std::string RealQuery::Value(const NormalForm& form) {
  std::string sum = "(+ 0.0 0.0";
  for (const Summand& t : form.terms) absl::StrAppend(&sum, " ", Value(t));
  return sum + ")";
}

// Whether each product that the sum adds up is not negative (*strictly: and the sum is positive).
bool RealQuery::IsPositiveSum(const Summand& sum, bool* strictly) {
  if (sum.coefficient.AsConst().value_or(0) <= 0) return false;
  std::map<std::string, int> powers;
  *strictly = sum.axes.empty() || equality_.normalizer().HasPoint(sum.axes, sum.guards, context_);
  for (const Atom& atom : sum.atoms) {
    if (!equality_.normalizer().IsSurelyPositive(OfAtom(atom), context_))
      ++powers[forms_.Key(atom)];
  }
  if (!powers.empty()) *strictly = false;
  return std::all_of(powers.begin(), powers.end(),
                     [](const auto& power) { return power.second % 2 == 0; });
}

// Splits a sum into sums whose product it is: axes that occur together stay together.
std::vector<Summand> RealQuery::Independent(const Summand& sum) const {
  std::vector<Summand> parts;
  std::vector<Leaf> open = sum.axes;
  while (!open.empty()) {
    std::vector<Leaf> axes = {open[0]};
    auto touches = [&](const auto& mentions) {
      return std::any_of(axes.begin(), axes.end(), mentions);
    };
    Summand part;
    for (bool more = true; more;) {
      more = false;
      auto join = [&](const auto& mentions) {
        if (!touches(mentions)) return;
        for (Leaf axis : sum.axes) {
          if (!mentions(axis) || std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
          axes.push_back(axis);
          more = true;
        }
      };
      for (const Fact& fact : sum.guards) {
        join([&](Leaf axis) { return leaves_.Mentions(fact.p, axis); });
      }
      for (const Atom& atom : sum.atoms) {
        join([&](Leaf axis) { return forms_.Mentions(atom, axis); });
      }
    }
    for (Leaf axis : open) {
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) part.axes.push_back(axis);
    }
    for (const Fact& fact : sum.guards) {
      if (touches([&](Leaf axis) { return leaves_.Mentions(fact.p, axis); })) {
        part.guards.push_back(fact);
      }
    }
    for (const Atom& atom : sum.atoms) {
      if (touches([&](Leaf axis) { return forms_.Mentions(atom, axis); })) {
        part.atoms.push_back(atom);
      }
    }
    open.erase(std::remove_if(open.begin(), open.end(),
                              [&](Leaf axis) {
                                return std::find(axes.begin(), axes.end(), axis) != axes.end();
                              }),
               open.end());
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string RealQuery::OfSum(const Summand& sum) {
  bool added = false, strictly = false;
  const NormalForm form{{sum}};
  const std::string name = Variable(absl::StrCat("sum ", forms_.Key(sum)), &form, &added);
  if (added && IsPositiveSum(sum, &strictly)) {
    Assume(absl::StrCat(strictly ? "(> " : "(>= ", name, " 0.0)"));
  }
  return name;
}

std::string RealQuery::Value(const Summand& term) {
  // What does not depend on the axes comes out of the sum.
  Summand sum = term;
  sum.atoms.clear();
  sum.denominator = 1;
  std::string product = "(* 1.0", conditions;
  for (const Atom& atom : term.atoms) {
    if (IsOwn(forms_, term, atom)) {
      sum.atoms.push_back(atom);
    } else if (IsTruth(atom)) {
      absl::StrAppend(&conditions, " ", Condition(atom));
    } else {
      absl::StrAppend(&product, " ", Factor(atom));
    }
  }
  for (const Fact& fact : term.guards) {
    if (std::none_of(term.axes.begin(), term.axes.end(),
                     [&](Leaf axis) { return leaves_.Mentions(fact.p, axis); })) {
      too_large_ = true;
    }
  }
  const bool own = std::any_of(term.axes.begin(), term.axes.end(),
                               [&](Leaf axis) { return leaves_.Mentions(term.coefficient, axis); });
  if (own) {
    absl::StrAppend(&product, " ", OfSum(sum));
  } else {
    sum.coefficient = 1;
    absl::StrAppend(&product, " ", Value(term.coefficient));
    for (const Summand& part : Independent(sum)) absl::StrAppend(&product, " ", OfSum(part));
  }
  if (term.denominator != 1) absl::StrAppend(&product, " (/ 1.0 ", Real(term.denominator), ")");
  product += ")";
  return conditions.empty() ? product
                            : absl::StrCat("(ite (and true", conditions, ") ", product, " 0.0)");
}

// The truth value as a formula. A comparison of what may have no value may be false in any case, so
// nothing is known of it.
std::string RealQuery::Condition(const Atom& truth) {
  const bool compares = truth.Is(ScalarFn::kLess) || truth.Is(ScalarFn::kEqual);
  if (compares && equality_.normalizer().IsTotal(OfAtom(truth), context_)) {
    return absl::StrCat(truth.Is(ScalarFn::kLess) ? "(< " : "(= ", Value(*truth.args[0]), " ",
                        Value(*truth.args[1]), ")");
  }
  bool added = false;
  const std::string name = Variable(forms_.Key(truth), nullptr, &added);
  return absl::StrCat("(< 0.0 ", name, ")");
}

// Constants have the value that their name states; parameters any value.
std::string RealQuery::OfConstant(const std::string& name, const std::string& variable) {
  double value = 0;
  if (name.rfind("c:", 0) != 0 || !absl::SimpleAtod(name.substr(2), &value)) return variable;
  if (!std::isfinite(value)) return variable;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const int64_t digits = static_cast<int64_t>(std::ldexp(mantissa, 53));
  exponent -= 53;
  if (std::abs(exponent) > 200) return variable;
  std::string power = "1.0";
  for (int i = 0; i < std::abs(exponent); i += 50) {
    const int part = std::min(50, std::abs(exponent) - i);
    power = absl::StrCat("(* ", power, " ", int64_t{1} << part, ".0)");
  }
  Assume(absl::StrCat("(= (* ", variable, " ", exponent < 0 ? power : "1.0", ") (* ", Real(digits),
                      " ", exponent > 0 ? power : "1.0", "))"));
  return variable;
}

std::string RealQuery::Factor(const Atom& atom) {
  bool added = false;
  const NormalForm form = OfAtom(atom);
  const std::string key = forms_.Key(atom), name = Variable(key, &form, &added);
  if (!added) return name;
  switch (atom.kind) {
    case Atom::Kind::kConstant:
      return OfConstant(atom.name, name);
    case Atom::Kind::kSizeInverse:
      if (arith_.Positive(context_, atom.index[0])) {
        Assume(absl::StrCat("(= (* ", name, " ", Value(atom.index[0]), ") 1.0)"));
      }
      return name;
    case Atom::Kind::kInverse: {
      const std::string divisor = Value(*atom.args[0]);
      if (IsDefined(key, *atom.args[0], absl::StrCat("(not (= ", divisor, " 0.0))"))) {
        Assume(absl::StrCat("(= (* ", name, " ", divisor, ") 1.0)"));
      }
      return name;
    }
    case Atom::Kind::kFn:
      return OfFunction(atom, name);
    default:
      return name;
  }
}

bool RealQuery::IsDefined(const std::string& key, const NormalForm& x,
                          const std::string& condition) {
  if (x.terms.empty()) return false;
  if (defined_.count(key) == 0) return Implied(condition, "a reciprocal or root has a value");
  assumed_ = true;
  return true;
}

std::string RealQuery::OfFunction(const Atom& atom, const std::string& name) {
  if (atom.Is(ScalarFn::kExp)) {
    const std::string x = Value(*atom.args[0]);
    Assume(absl::StrCat("(> ", name, " 0.0)"));
    Assume(absl::StrCat("(= (> ", x, " 0.0) (> ", name, " 1.0))"));
    Assume(absl::StrCat("(= (< ", x, " 0.0) (< ", name, " 1.0))"));
  }
  if (atom.Is(ScalarFn::kSqrt)) {
    const std::string x = Value(*atom.args[0]);
    if (IsDefined(forms_.Key(atom), *atom.args[0], absl::StrCat("(>= ", x, " 0.0)"))) {
      Assume(absl::StrCat("(and (>= ", name, " 0.0) (= (* ", name, " ", name, ") ", x, "))"));
    }
  }
  return name;
}

}  // namespace lemma::prover
