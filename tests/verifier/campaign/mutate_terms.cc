#include "tests/verifier/campaign/mutate_terms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace lemma {
namespace {

class TermMutator {
 public:
  TermMutator(const std::vector<Symbol>& names, std::mt19937_64* random)
      : names_(names), random_(*random) {}

  Term Mutate(const Term& term) {
    switch (term.kind()) {
      case Term::Kind::kInt:
        return Integer(term.integer());
      case Term::Kind::kReal:
        return Real(term.real());
      case Term::Kind::kString:
        return String(term.text());
      case Term::Kind::kSymbol:
        return OfSymbol(term);
      case Term::Kind::kList:
        return List(term);
      case Term::Kind::kCall:
        return Call(term);
    }
    return term;
  }

 private:
  size_t Below(size_t n) { return random_() % n; }

  Term Integer(int64_t value) {
    const int64_t values[] = {value + 1, value - 1, -value, 2 * value, 0, 1 - value, value + 40};
    return Below(6) == 0 ? OtherSymbol(SymbolKind::kInt, Term(value))
                         : Term(values[Below(std::size(values))]);
  }

  Term Real(double value) {
    const double values[] = {value + 1, value - 1, -value, 2 * value,
                             value / 2, 0,         -0.0,   1 / value};
    return Term::Real(values[Below(std::size(values))]);
  }

  // Another name of an element type, mostly; in "ij,jk->ik", two indices are exchanged.
  Term String(std::string text) {
    if (text.find("->") != std::string::npos) {
      std::swap(text[Below(text.size())], text[Below(text.size())]);
      return Term::String(std::move(text));
    }
    return Term::String(
        std::string(lemma::Name(static_cast<DType>(Below(static_cast<size_t>(kNumDTypes))))));
  }

  Term OtherSymbol(SymbolKind kind, const Term& otherwise) {
    std::vector<int> fit;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i].kind == kind) fit.push_back(static_cast<int>(i));
    }
    if (fit.empty()) return otherwise;
    const int chosen = fit[Below(fit.size())];
    return Term::Symbol(names_[chosen].name, chosen);
  }

  Term OfSymbol(const Term& term) {
    const SymbolKind kind = names_[term.symbol()].kind;
    if (kind != SymbolKind::kInt || Below(2) == 0) return OtherSymbol(kind, term);
    switch (Below(5)) {
      case 0:
        return Term::Call(TermFn::kAdd, {term, Term(1)});
      case 1:
        return Term::Call(TermFn::kSub, {term, Term(1)});
      case 2:
        return Term::Call(TermFn::kMul, {Term(2), term});
      case 3:
        return Term::Call(TermFn::kMin, {term, Term(Below(2) == 0 ? 3 : 40)});
      default:
        return Term(static_cast<int64_t>(Below(3)));
    }
  }

  Term List(const Term& term) {
    std::vector<Term> items = term.args();
    std::vector<bool> splice;
    for (size_t i = 0; i < items.size(); ++i) splice.push_back(term.IsSplice(i));
    if (items.empty()) return Term::List({Term(1)}, {false});
    const size_t i = Below(items.size()), j = Below(items.size());
    switch (Below(6)) {
      case 0:
      case 1:
        std::swap(items[i], items[j]);
        std::iter_swap(splice.begin() + static_cast<std::ptrdiff_t>(i),
                       splice.begin() + static_cast<std::ptrdiff_t>(j));
        break;
      case 2:
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
        splice.erase(splice.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      case 3:
        items.insert(items.begin() + static_cast<std::ptrdiff_t>(i), Term(1));
        splice.insert(splice.begin() + static_cast<std::ptrdiff_t>(i), false);
        break;
      default:
        items[i] = Mutate(items[i]);
        splice[i] = splice[i] && items[i].kind() == Term::Kind::kSymbol;
    }
    return Term::List(std::move(items), std::move(splice));
  }

  Term Call(const Term& term) {
    std::vector<Term> args = term.args();
    const size_t i = Below(args.size());
    switch (Below(5)) {
      case 0:
        return args[i];
      case 1:
        std::swap(args.front(), args.back());
        return Term::Call(term.fn(), std::move(args));
      case 2:
        if (args.size() == 2 && term.fn() <= TermFn::kMax) {
          const auto count = static_cast<size_t>(TermFn::kMax) + 1;
          return Term::Call(static_cast<TermFn>(Below(count)), std::move(args));
        }
        [[fallthrough]];
      default:
        args[i] = Mutate(args[i]);
        return Term::Call(term.fn(), std::move(args));
    }
  }

  const std::vector<Symbol>& names_;
  std::mt19937_64& random_;
};

}  // namespace

Term MutatedTerm(const Term& term, const std::vector<Symbol>& names, std::mt19937_64* random) {
  return TermMutator(names, random).Mutate(term);
}

bool MutateGuard(std::vector<Comparison>* where, const std::vector<Symbol>& names,
                 std::mt19937_64* random) {
  if (where->empty()) return false;
  const size_t i = (*random)() % where->size();
  Comparison& chosen = (*where)[i];
  switch ((*random)() % 3) {
    case 0:
      where->erase(where->begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    case 1:
      chosen.relation = static_cast<Relation>((*random)() % 6);
      return true;
    default: {
      Term& side = (*random)() % 2 == 0 ? chosen.lhs : chosen.rhs;
      side = MutatedTerm(side, names, random);
      return true;
    }
  }
}

}  // namespace lemma
