#include "verifier/preconditions/guard_language.h"

#include <algorithm>

namespace lemma::prover {
namespace {

constexpr int64_t kConstants[] = {0, 1, 2, 3};
constexpr size_t kMostForProducts = 14;  // symbols

}  // namespace

GuardLanguage::GuardLanguage(const Substitution& rule) : rule_(rule) {
  for (SymbolKind kind : {SymbolKind::kInt, SymbolKind::kList}) {
    for (size_t i = 0; i < rule.symbols.size(); ++i) {
      const SymbolKind k = rule.symbols[i].kind;
      if (k == kind || (kind == SymbolKind::kInt && k == SymbolKind::kUnknown)) {
        variables_.push_back(static_cast<int>(i));
      }
    }
    if (kind == SymbolKind::kInt) num_integers_ = variables_.size();
  }
  for (const PatternNode& node : rule.source.nodes) {
    std::vector<int> used;
    for (const auto& [name, term] : node.attrs) term.CollectSymbols(&used);
    in_attributes_.insert(used.begin(), used.end());
  }
  AddSimple();
  AddSumsAndProducts();
  std::stable_sort(atoms_.begin(), atoms_.end(), [](const GuardAtom& a, const GuardAtom& b) {
    return a.complexity < b.complexity;
  });
}

void GuardLanguage::AddSimple() {
  const int n = static_cast<int>(variables_.size()), integers = static_cast<int>(num_integers_);
  GuardAtom atom;
  for (int x = 0; x < n; ++x) {
    for (int64_t c : kConstants) {
      for (Relation relation : {Relation::kLe, Relation::kGe, Relation::kEq}) {
        atom = {};
        atom.x = x;
        atom.relation = relation;
        atom.constant = c;
        atom.complexity = relation == Relation::kEq ? 2 : 1;
        atoms_.push_back(atom);
      }
    }
  }
  for (int x = 0; x < integers; ++x) {
    for (int u = 0; u < integers; ++u) {
      if (u == x) continue;
      atom = {};
      atom.x = x;
      atom.u = u;
      atom.relation = Relation::kLe;
      atom.complexity = 3;
      atoms_.push_back(atom);
      if (u < x) continue;
      atom.relation = Relation::kEq;
      atom.complexity = 4;
      atoms_.push_back(atom);
    }
  }
  for (int x = integers; x < n; ++x) {
    for (int u = x + 1; u < n; ++u) {
      atom = {};
      atom.kind = GuardAtom::Kind::kSameList;
      atom.x = x;
      atom.u = u;
      atom.complexity = 4;
      atoms_.push_back(atom);
    }
  }
}

void GuardLanguage::AddSumsAndProducts() {
  const int n = static_cast<int>(num_integers_);
  GuardAtom atom;
  for (int x = 0; x < n; ++x) {
    for (int u = 0; u < n; ++u) {
      if (u == x) continue;
      atom = {};
      atom.x = x;
      atom.u = u;
      for (auto [scale, constant] : {std::pair<int, int>{1, 1}, {1, 2}, {2, 0}, {2, 1}}) {
        atom.scale = scale;
        atom.constant = constant;
        atom.complexity = 7;
        atoms_.push_back(atom);
      }
      atom.scale = 1;
      atom.constant = 0;
      atom.kind = GuardAtom::Kind::kDivides;
      atom.complexity = 7;
      atoms_.push_back(atom);
    }
  }
  if (num_integers_ > kMostForProducts) return;
  for (int x = 0; x < n; ++x) {
    for (int u = 0; u < n; ++u) {
      for (int w = u + 1; w < n; ++w) {
        if (u == x || w == x) continue;
        atom = {};
        atom.x = x;
        atom.u = u;
        atom.w = w;  // x = u + w
        atom.complexity = 8;
        atoms_.push_back(atom);
        atom.w = GuardAtom::kNone;
        atom.v = w;  // x = u * w
        atom.complexity = 9;
        atoms_.push_back(atom);
        for (int y = x + 1; y < n && x < u; ++y) {
          if (y == u || y == w) continue;
          atom.y = y;  // x * y = u * w
          atom.complexity = 10;
          atoms_.push_back(atom);
        }
      }
    }
  }
}

GuardValues GuardLanguage::ValuesOf(const SymbolValues& symbols) const {
  GuardValues values;
  for (size_t i = 0; i < variables_.size(); ++i) {
    values.emplace_back();
    const auto& value = symbols[variables_[i]];
    if (!value) continue;
    if (i < num_integers_) {
      auto* index = std::get_if<IndexExpr>(&*value);
      if (index != nullptr) values.back() = index->AsConst();
    } else if (auto* list = std::get_if<Idx>(&*value)) {
      values.back() = static_cast<int64_t>(list->size());
    }
  }
  return values;
}

bool GuardLanguage::Holds(const GuardAtom& atom, const GuardValues& values,
                          const SymbolValues& symbols) const {
  if (atom.kind == GuardAtom::Kind::kSameList) {
    return Evaluate(ToComparison(atom), symbols).value_or(false);
  }
  for (int i : {atom.x, atom.y, atom.u, atom.v, atom.w}) {
    if (i != GuardAtom::kNone && !values[i]) return false;
  }
  auto product = [&](int a, int b) {
    return a == GuardAtom::kNone ? 0 : *values[a] * (b == GuardAtom::kNone ? 1 : *values[b]);
  };
  const int64_t left = product(atom.x, atom.y);
  if (atom.kind == GuardAtom::Kind::kDivides) {
    return *values[atom.u] > 0 && left % *values[atom.u] == 0;
  }
  const int64_t right =
      atom.scale * product(atom.u, atom.v) + product(atom.w, GuardAtom::kNone) + atom.constant;
  return atom.relation == Relation::kLe   ? left <= right
         : atom.relation == Relation::kGe ? left >= right
                                          : left == right;
}

bool GuardLanguage::BoundsSize(const GuardAtom& atom) const {
  const bool by_constant = atom.kind == GuardAtom::Kind::kCompare && atom.u == GuardAtom::kNone &&
                           atom.relation != Relation::kGe &&
                           static_cast<size_t>(atom.x) < num_integers_;
  return by_constant && in_attributes_.count(variables_[atom.x]) == 0;
}

Term GuardLanguage::TermOf(int variable) const {
  const int symbol = variables_[variable];
  Term term = Term::Symbol(rule_.symbols[symbol].name, symbol);
  return static_cast<size_t>(variable) < num_integers_ ? term : Term::Call(TermFn::kLen, {term});
}

Comparison GuardLanguage::ToComparison(const GuardAtom& atom) const {
  auto symbol = [&](int v) {
    return Term::Symbol(rule_.symbols[variables_[v]].name, variables_[v]);
  };
  if (atom.kind == GuardAtom::Kind::kSameList) {
    return {symbol(atom.x), Relation::kEq, symbol(atom.u)};
  }
  if (atom.kind == GuardAtom::Kind::kDivides) {
    return {Term::Call(TermFn::kMod, {TermOf(atom.x), TermOf(atom.u)}), Relation::kEq, Term(0)};
  }
  auto product = [&](int a, int b) {
    return b == GuardAtom::kNone ? TermOf(a) : Term::Call(TermFn::kMul, {TermOf(a), TermOf(b)});
  };
  std::optional<Term> right;
  if (atom.u != GuardAtom::kNone) {
    right = product(atom.u, atom.v);
    if (atom.scale != 1) right = Term::Call(TermFn::kMul, {Term(atom.scale), *right});
  }
  if (atom.w != GuardAtom::kNone) right = Term::Call(TermFn::kAdd, {*right, TermOf(atom.w)});
  if (!right) {
    right = Term(atom.constant);
  } else if (atom.constant != 0) {
    right = Term::Call(TermFn::kAdd, {*right, Term(atom.constant)});
  }
  return {product(atom.x, atom.y), atom.relation, *right};
}

}  // namespace lemma::prover
