// Prepares questions to the solver: defines quotients, adds lemmas on products, writes SMT-LIB.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "verifier/arithmetic/arith.h"
#include "verifier/arithmetic/linear.h"

namespace lemma::prover {

// Relates the quotients of one number by y and by y*f: the second is the first divided by f.
void Arith::RelateQuotients(const std::vector<Leaf>& divs, const Facts& rest, Facts* facts) {
  for (Leaf fine : divs) {
    for (Leaf coarse : divs) {
      const LeafInfo x = leaves_.Info(fine), y = leaves_.Info(coarse);
      if (fine == coarse || x.a != y.a) continue;
      auto factor = ExactQuotient(y.b, x.b);
      if (!factor || !Positive(rest, *factor, Effort::kSyntax)) continue;
      const Poly digit = Poly::Of(fine) - *factor * Poly::Of(coarse);
      facts->push_back(Fact::Ge(digit));
      facts->push_back(Fact::Ge(*factor - 1 - digit));
    }
  }
}

void Arith::Define(Facts* facts, Facts* rest, int depth) {
  std::set<Leaf> done;
  std::vector<Leaf> divs;  // quotients by positive divisors
  for (size_t next = 0; next < facts->size(); ++next) {
    std::vector<Leaf> found;
    for (const auto& [m, c] : (*facts)[next].p.terms()) {
      for (Leaf leaf : m) {
        if (!leaves_.IsBase(leaf) && done.insert(leaf).second) found.push_back(leaf);
      }
    }
    for (Leaf leaf : found) {
      const LeafInfo info = leaves_.Info(leaf);
      const Poly x = Poly::Of(leaf);
      if (info.kind == LeafInfo::Kind::kDiv) {
        // Without a positive divisor the two inequalities would contradict each other.
        if (depth > 3 || !Positive(*rest, info.b, Effort::kLinear)) continue;
        const Poly remainder = info.a - info.b * x;
        divs.push_back(leaf);
        facts->push_back(Fact::Ge(remainder));
        facts->push_back(Fact::Ge(info.b - 1 - remainder));
        if (NonNegative(*rest, info.a, Effort::kSyntax)) facts->push_back(Fact::Ge(x));
      } else if (info.kind == LeafInfo::Kind::kMin) {
        facts->push_back(Fact::Ge(info.a - x));
        facts->push_back(Fact::Ge(info.b - x));
        facts->push_back(Fact::Eq((info.a - x) * (info.b - x)));
      } else if (info.kind == LeafInfo::Kind::kMax) {
        facts->push_back(Fact::Ge(x - info.a));
        facts->push_back(Fact::Ge(x - info.b));
        facts->push_back(Fact::Eq((x - info.a) * (x - info.b)));
      }
    }
  }
  RelateQuotients(divs, *rest, facts);
}

std::string Arith::Script(const Facts& facts, bool nonlinear) {
  std::vector<std::string> lines;
  std::map<Leaf, int> names;
  std::map<Monomial, int> monomials;
  auto leaf_name = [&](Leaf leaf) {
    return absl::StrCat("x", names.emplace(leaf, names.size()).first->second);
  };
  auto monomial_text = [&](const Monomial& m) -> std::string {
    if (m.size() == 1) return leaf_name(m[0]);
    if (!nonlinear) return absl::StrCat("m", monomials.emplace(m, monomials.size()).first->second);
    std::string product = "(*";
    for (Leaf leaf : m) absl::StrAppend(&product, " ", leaf_name(leaf));
    return product + ")";
  };
  auto number = [](int64_t c) {
    if (c >= 0) return absl::StrCat(c);
    return absl::StrCat("(- ", absl::StrCat(c).substr(1), ")");
  };
  auto text = [&](const Poly& p) {
    std::string sum = "(+ 0 0";
    for (const auto& [m, c] : p.terms()) {
      if (m.empty()) {
        absl::StrAppend(&sum, " ", number(c));
      } else if (c == 1) {
        absl::StrAppend(&sum, " ", monomial_text(m));
      } else {
        absl::StrAppend(&sum, " (* ", number(c), " ", monomial_text(m), ")");
      }
    }
    return sum + ")";
  };
  std::string body;
  for (const Fact& fact : facts) {
    const std::string p = text(fact.p);
    if (fact.kind == Fact::Kind::kGe) absl::StrAppend(&body, "(assert (>= ", p, " 0))\n");
    if (fact.kind == Fact::Kind::kEq) absl::StrAppend(&body, "(assert (= ", p, " 0))\n");
    if (fact.kind == Fact::Kind::kNe) absl::StrAppend(&body, "(assert (not (= ", p, " 0)))\n");
  }
  std::string script = nonlinear ? "(set-logic QF_NIA)\n" : "(set-logic QF_LIA)\n";
  for (size_t i = 0; i < names.size(); ++i)
    absl::StrAppend(&script, "(declare-const x", i, " Int)\n");
  for (size_t i = 0; i < monomials.size(); ++i) {
    absl::StrAppend(&script, "(declare-const m", i, " Int)\n");
  }
  SpendWork(static_cast<int64_t>(body.size() / 16));
  return script + body;
}

namespace {

constexpr size_t kMaxFacts = 250;

// Adds products of facts with nonnegative leaves if they mention monomials that occur.
void AddProducts(Facts* facts, const std::function<bool(Leaf)>& nonnegative,
                 const std::function<bool(Leaf)>& positive) {
  std::set<Monomial> wanted;
  for (const Fact& fact : *facts) {
    for (const auto& [m, c] : fact.p.terms()) {
      if (m.size() >= 2) wanted.insert(m);
    }
  }
  // Multiplies a fact by the factor that takes one of its monomials to a wanted one.
  std::set<std::pair<size_t, Monomial>> done;
  const size_t original = facts->size();
  const std::set<Monomial> first = wanted;
  for (const Monomial& m : first) {
    for (size_t i = 0; i < original && facts->size() < kMaxFacts; ++i) {
      const Fact fact = (*facts)[i];
      if (fact.kind == Fact::Kind::kNe || fact.p.Degree() > 4) continue;
      for (const auto& [part, c] : fact.p.terms()) {
        if (part.empty() || part.size() >= m.size()) continue;
        auto factor = Quotient(m, part);
        if (!factor || factor->size() > 3) continue;
        if (fact.kind == Fact::Kind::kGe &&
            !std::all_of(factor->begin(), factor->end(), nonnegative)) {
          continue;
        }
        if (!done.insert({i, *factor}).second) continue;
        Fact product{fact.kind, fact.p * Poly::Of(*factor, 1)};
        for (const auto& [pm, pc] : product.p.terms()) {
          if (pm.size() >= 2) wanted.insert(pm);
        }
        facts->push_back(std::move(product));
      }
    }
  }
  for (const Monomial& m : wanted) {
    if (!std::all_of(m.begin(), m.end(), nonnegative)) continue;
    facts->push_back(Fact::Ge(Poly::Of(m, 1)));
    std::set<Leaf> factors(m.begin(), m.end());
    for (Leaf factor : factors) {
      if (positive(factor)) {
        facts->push_back(Fact::Ge(Poly::Of(m, 1) - Poly::Of(*Without(m, factor), 1)));
      }
    }
  }
}

}  // namespace

std::pair<Arith::Answer*, bool> Arith::Memo::Find(const Facts& facts, Effort effort) {
  SpendWork(static_cast<int64_t>(1 + facts.size()));
  std::vector<Entry>& entries = entries_[HashOf(facts)];
  for (Entry& entry : entries) {
    if (entry.effort == effort && entry.facts == facts) return {entry.answer.get(), false};
  }
  entries.push_back({facts, effort, std::make_unique<Answer>()});
  return {entries.back().answer.get(), true};
}

bool Arith::Ask(const Facts& given, const std::string& what, Effort effort) {
  for (const Fact& fact : given) {
    if (fact.p.overflowed()) return false;
  }
  const auto [remembered, added] = answers_.Find(given, effort);
  if (!added) {
    if (remembered->holds && log != nullptr) log->push_back({what, remembered->script});
    return remembered->holds;
  }
  // For most questions the answer is "no", and small integers show it.
  if (models_.Find(given)) return false;
  Facts facts = given;
  ++depth_;
  Facts rest(given.begin(), given.end() - 1);  // without the goal
  Define(&facts, &rest, depth_);
  --depth_;
  Facts nonlinear = facts;
  const LowerBounds bounds(facts);
  AddProducts(
      &facts, [&](Leaf leaf) { return bounds.AtLeast(leaf, 0); },
      [&](Leaf leaf) { return bounds.AtLeast(leaf, 1); });
  for (const Fact& fact : facts) {
    if (fact.p.overflowed()) return false;
  }
  std::sort(facts.begin(), facts.end());
  facts.erase(std::unique(facts.begin(), facts.end()), facts.end());
  Satisfiable answer = DecideLinear(facts);
  if (answer == Satisfiable::kYes && effort != Effort::kFull) return false;
  std::string script = Script(facts, false);
  if (answer == Satisfiable::kUnknown) answer = solver_.Check(script, rlimit);
  const bool products = script.find("(declare-const m") != std::string::npos;
  if (answer != Satisfiable::kNo && products && effort == Effort::kFull) {
    std::sort(nonlinear.begin(), nonlinear.end());
    nonlinear.erase(std::unique(nonlinear.begin(), nonlinear.end()), nonlinear.end());
    script = Script(nonlinear, true);
    answer = solver_.Check(script, rlimit);
  }
  if (answer != Satisfiable::kNo) return false;
  if (log != nullptr) log->push_back({what, script});
  remembered->holds = true;
  remembered->script = std::move(script);
  return true;
}

}  // namespace lemma::prover
