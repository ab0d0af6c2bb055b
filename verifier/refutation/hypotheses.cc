#include "verifier/refutation/hypotheses.h"

#include <algorithm>
#include <set>

#include "verifier/normal_form/build_form.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {
namespace {

void AddName(const std::string& name, std::vector<std::string>* names) {
  if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
}

}  // namespace

void CollectSymbols(const ScalarExpr& e, std::vector<std::string>* symbols,
                    std::vector<std::string>* params) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return;
    case ScalarExpr::Kind::kParam:
      AddName(e.name(), params);
      return;
    case ScalarExpr::Kind::kIndex:
      CollectSymbols(e.index(), symbols);
      return;
    case ScalarExpr::Kind::kRead:
      for (const IndexExpr& i : e.indices()) CollectSymbols(i, symbols);
      return;
    default:
      break;
  }
  if (e.kind() == ScalarExpr::Kind::kReduce) {
    for (const Axis& axis : e.axes()) CollectSymbols(axis.extent, symbols);
  }
  if (e.kind() != ScalarExpr::Kind::kApply) CollectSymbols(e.guard(), symbols);
  for (const ScalarExpr& arg : e.args()) CollectSymbols(arg, symbols, params);
}

void CollectSymbols(const IndexExpr& e, std::vector<std::string>* names) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
    case IndexExpr::Kind::kVar:
      return;
    case IndexExpr::Kind::kSymbol:
      AddName(e.name(), names);
      return;
    case IndexExpr::Kind::kLoad: {
      std::vector<std::string> params;
      CollectSymbols(ScalarExpr(e.load()), names, &params);
      return;
    }
    default:
      CollectSymbols(e.lhs(), names);
      CollectSymbols(e.rhs(), names);
  }
}

void CollectSymbols(const Guard& g, std::vector<std::string>* names) {
  switch (g.kind()) {
    case Guard::Kind::kTrue:
    case Guard::Kind::kFalse:
      return;
    case Guard::Kind::kLe:
    case Guard::Kind::kEq:
      CollectSymbols(g.lhs(), names);
      CollectSymbols(g.rhs(), names);
      return;
    case Guard::Kind::kNot:
      CollectSymbols(g.left(), names);
      return;
    default:
      CollectSymbols(g.left(), names);
      CollectSymbols(g.right(), names);
  }
}

void CollectSymbols(const Definition& d, std::vector<std::string>* symbols,
                    std::vector<std::string>* params) {
  for (const ExprType& input : d.inputs) {
    for (const IndexExpr& dim : input.dims) CollectSymbols(dim, symbols);
  }
  for (const TensorExpr& tensor : d.tensors) {
    for (const Axis& axis : tensor.axes) CollectSymbols(axis.extent, symbols);
    CollectSymbols(tensor.body, symbols, params);
  }
}

Hypotheses::Hypotheses(NormalForms* forms, Arith* arith, const std::vector<Guard>& requirements,
                       const std::vector<IndexExpr>& positive, const Facts& more)
    : leaves_(&forms->leaves()), arith_(arith) {
  const Definition none;
  const LeafMap no_symbols;
  FormBuilder builder(forms, none, Laws::kNone, no_symbols);
  for (const IndexExpr& e : positive) {
    std::vector<std::string> names;
    CollectSymbols(e, &names);
    for (const std::string& name : names) {
      const Leaf leaf = leaves_->Symbol(name);
      if (std::find(symbols_.begin(), symbols_.end(), leaf) == symbols_.end()) {
        symbols_.push_back(leaf);
      }
    }
    facts_.push_back(Fact::Ge(builder.Index(e, {}) - 1));
  }
  facts_.insert(facts_.end(), more.begin(), more.end());
  std::vector<std::vector<Facts>> disjunctions;
  for (const Guard& guard : requirements) {
    std::vector<std::string> names;
    CollectSymbols(guard, &names);
    for (const std::string& name : names) {
      const Leaf leaf = leaves_->Symbol(name);
      if (std::find(symbols_.begin(), symbols_.end(), leaf) == symbols_.end()) {
        symbols_.push_back(leaf);
      }
    }
    std::vector<Facts> cases = builder.Cases(guard, true, {});
    if (cases.size() == 1) {
      facts_.insert(facts_.end(), cases[0].begin(), cases[0].end());
    } else {
      disjunctions.push_back(std::move(cases));
    }
  }
  for (int round = 0; round < 100 && SolveOne(); ++round) {
  }
  // Uses a disjunction only if exactly one of its cases is possible.
  for (const std::vector<Facts>& cases : disjunctions) {
    std::vector<Facts> possible, original;
    for (const Facts& given : cases) {
      Facts facts = given;
      for (Fact& fact : facts) fact.p = leaves_->Substitute(fact.p, solved_);
      if (arith_->Unsatisfiable(With(facts_, facts))) continue;
      possible.push_back(std::move(facts));
      original.push_back(given);
    }
    if (possible.size() == 1) {
      facts_.insert(facts_.end(), possible[0].begin(), possible[0].end());
    } else {
      undecided_.push_back(std::move(original));
    }
  }
  for (int round = 0; round < 100 && SolveOne(); ++round) {
  }
  BoundFactors();
  Clean();
}

// If a product is at least 1, and all factors but one are, that factor is too.
void Hypotheses::BoundFactors() {
  for (bool more = true; more;) {
    more = false;
    const LowerBounds bounds(facts_);
    for (size_t i = 0; i < facts_.size() && !more; ++i) {
      const Poly product = facts_[i].p - facts_[i].p.ConstantTerm();
      if (facts_[i].kind != Fact::Kind::kGe || facts_[i].p.ConstantTerm() > -1) continue;
      if (product.terms().size() != 1 || product.terms()[0].second < 1) continue;
      const Monomial m = product.terms()[0].first;
      const auto open = [&](Leaf leaf) { return !bounds.AtLeast(leaf, 1); };
      if (std::count_if(m.begin(), m.end(), open) != 1) continue;
      facts_.push_back(Fact::Ge(Poly::Of(*std::find_if(m.begin(), m.end(), open)) - 1));
      more = true;
    }
  }
}

void Hypotheses::SubstituteAll(Leaf symbol, const Poly& value) {
  const LeafMap map = {{symbol, value}};
  for (Fact& fact : facts_) fact.p = leaves_->Substitute(fact.p, map);
  for (auto& [leaf, poly] : solved_) poly = leaves_->Substitute(poly, map);
  solved_[symbol] = value;
}

void Hypotheses::Clean() {
  Facts kept;
  for (const Fact& fact : facts_) {
    Fact simpler = Normalized(fact);
    if (auto c = simpler.p.AsConst()) {
      const bool holds = simpler.kind == Fact::Kind::kGe   ? *c >= 0
                         : simpler.kind == Fact::Kind::kEq ? *c == 0
                                                           : *c != 0;
      if (holds) continue;
    }
    if (std::find(kept.begin(), kept.end(), simpler) == kept.end()) kept.push_back(simpler);
  }
  facts_ = std::move(kept);
}

bool Hypotheses::SolveOne() {
  Clean();
  for (size_t i = 0; i < facts_.size(); ++i) {
    Facts others = facts_;
    others.erase(others.begin() + i);
    facts_[i] = Normalized({facts_[i].kind, arith_->SimplifyDivs(others, facts_[i].p)});
    if (facts_[i].kind != Fact::Kind::kEq || facts_[i].p.IsZero() || facts_[i].p.overflowed()) {
      continue;
    }
    Poly p = facts_[i].p;
    for (Leaf factor : CommonMonomial(p)) {
      if (arith_->Positive(others, Poly::Of(factor))) p = *ExactQuotient(p, Poly::Of(factor));
    }
    if (p.AsConst()) continue;
    facts_[i].p = p;
    // Solves for a symbol.
    for (auto it = p.terms().rbegin(); it != p.terms().rend(); ++it) {
      const auto& [m, c] = *it;
      if (m.size() != 1 || (c != 1 && c != -1)) continue;
      const Leaf leaf = m[0];
      if (leaves_->Info(leaf).kind != LeafInfo::Kind::kSymbol) continue;
      const Poly rest = p - Poly::Of(Monomial{leaf}, c);
      if (leaves_->Mentions(rest, leaf)) continue;
      facts_.erase(facts_.begin() + i);
      SubstituteAll(leaf, c > 0 ? -rest : rest);
      return true;
    }
    // A product of sizes that is 1: each is 1.
    if (p.terms().size() == 2 && p.ConstantTerm() == -p.terms()[1].second &&
        (p.ConstantTerm() == 1 || p.ConstantTerm() == -1)) {
      const Monomial product = p.terms()[1].first;
      const bool sizes = std::all_of(product.begin(), product.end(), [&](Leaf leaf) {
        return leaves_->Info(leaf).kind == LeafInfo::Kind::kSymbol &&
               arith_->NonNegative(others, Poly::Of(leaf));
      });
      if (sizes) {
        SubstituteAll(product[0], 1);
        return true;
      }
    }
    // a - b * (a div b) = 0 for a symbol a: a is b times a new symbol.
    for (const auto& [m, c] : p.terms()) {
      for (Leaf leaf : m) {
        const LeafInfo info = leaves_->Info(leaf);
        if (info.kind != LeafInfo::Kind::kDiv) continue;
        const Poly remainder = info.a - info.b * Poly::Of(leaf);
        if (remainder != p && remainder != -p) continue;
        if (!arith_->Positive(others, info.b)) continue;
        for (const auto& [am, ac] : info.a.terms()) {
          if (am.size() != 1 || (ac != 1 && ac != -1)) continue;
          const Leaf symbol = am[0];
          if (leaves_->Info(symbol).kind != LeafInfo::Kind::kSymbol) continue;
          const Poly rest = info.a - Poly::Of(Monomial{symbol}, ac);
          if (leaves_->Mentions(rest, symbol) || leaves_->Mentions(info.b, symbol)) continue;
          const Leaf quotient = leaves_->NewSymbol("q");
          symbols_.push_back(quotient);
          if (arith_->NonNegative(others, info.a)) facts_.push_back(Fact::Ge(Poly::Of(quotient)));
          if (arith_->Positive(others, info.a)) facts_.push_back(Fact::Ge(Poly::Of(quotient) - 1));
          const Poly value = info.b * Poly::Of(quotient) - rest;
          facts_.erase(facts_.begin() + i);
          SubstituteAll(symbol, ac > 0 ? value : -value);
          return true;
        }
      }
    }
  }
  return false;
}

std::vector<Leaf> Hypotheses::FreeSymbols() const {
  std::vector<Leaf> result;
  for (Leaf leaf : symbols_) {
    if (solved_.count(leaf) == 0) result.push_back(leaf);
  }
  return result;
}

std::optional<int64_t> Hypotheses::Value(const Poly& p,
                                         const std::map<Leaf, int64_t>& values) const {
  if (p.overflowed()) return std::nullopt;
  int64_t sum = 0;
  for (const auto& [m, c] : p.terms()) {
    int64_t product = c;
    for (Leaf leaf : m) {
      const LeafInfo& info = leaves_->Info(leaf);
      std::optional<int64_t> value;
      if (leaves_->IsBase(leaf)) {
        auto it = values.find(leaf);
        if (it != values.end()) value = it->second;
      } else if (info.kind != LeafInfo::Kind::kLoad) {
        auto a = Value(info.a, values), b = Value(info.b, values);
        if (!a || !b) return std::nullopt;
        if (info.kind == LeafInfo::Kind::kMin) value = std::min(*a, *b);
        if (info.kind == LeafInfo::Kind::kMax) value = std::max(*a, *b);
        if (info.kind == LeafInfo::Kind::kDiv && *b > 0) {
          value = *a / *b - (*a % *b < 0 ? 1 : 0);
        }
      }
      if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

}  // namespace lemma::prover
