#include "rewrite/matching/unify.h"

#include <algorithm>

#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

// Whether a symbol of this kind may have this value. Reals accept integers.
bool Fits(SymbolKind kind, const ExprAttr& value) {
  switch (kind) {
    case SymbolKind::kUnknown:
      return true;
    case SymbolKind::kInt:
      return std::holds_alternative<IndexExpr>(value);
    case SymbolKind::kReal:
      return std::holds_alternative<ScalarExpr>(value);
    case SymbolKind::kString:
      return std::holds_alternative<std::string>(value);
    case SymbolKind::kList:
      return std::holds_alternative<Idx>(value);
  }
  return false;
}

bool Agree(const ExprAttr& a, const ExprAttr& b) {
  if (auto* i = std::get_if<IndexExpr>(&a); i != nullptr && b.index() == a.index()) {
    return AreEqual(*i, std::get<IndexExpr>(b));
  }
  if (auto* s = std::get_if<Idx>(&a); s != nullptr && b.index() == a.index()) {
    const Idx& t = std::get<Idx>(b);
    return s->size() == t.size() && std::equal(s->begin(), s->end(), t.begin(), AreEqual);
  }
  if (a.index() == b.index()) return SameValue(a, b);
  auto* index = std::get_if<IndexExpr>(&a);
  auto* real = std::get_if<ScalarExpr>(&b);
  if (index == nullptr) return real == nullptr && b.index() == 0 ? Agree(b, a) : false;
  return real != nullptr && index->is_const() && real->kind() == ScalarExpr::Kind::kConst &&
         static_cast<double>(index->value()) == real->value();
}

}  // namespace

bool Unifier::Equate(const Term& term, const ExprAttr& value) {
  Outcome outcome = Try(term, value);
  if (outcome == Outcome::kOpen) open_.emplace_back(&term, value);
  return outcome != Outcome::kFails;
}

bool Unifier::Settle() {
  bool progress = true;
  // Each round that makes progress binds a symbol or a length. The bound is for `where` clauses
  // that hold without binding anything.
  for (size_t round = 0; progress && round <= 2 * values_.size() + 1; ++round) {
    progress = false;
    std::vector<std::pair<const Term*, ExprAttr>> open = std::move(open_);
    open_.clear();
    for (auto& [term, value] : open) {
      Outcome outcome = Try(*term, value);
      if (outcome == Outcome::kFails) return false;
      if (outcome == Outcome::kHolds) progress = true;
      if (outcome == Outcome::kOpen) open_.emplace_back(term, std::move(value));
    }
    for (const Comparison& c : rule_->where) {
      if (c.relation != Relation::kEq) continue;
      auto lhs = lemma::Evaluate(c.lhs, values_), rhs = lemma::Evaluate(c.rhs, values_);
      if (lhs.has_value() == rhs.has_value()) continue;
      Outcome outcome = lhs ? Try(c.rhs, *lhs) : Try(c.lhs, *rhs);
      if (outcome == Outcome::kFails) return false;
      if (outcome == Outcome::kHolds) progress = true;
    }
  }
  if (!open_.empty()) return false;
  for (const Comparison& c : rule_->where) {
    if (!lemma::Evaluate(c, values_).value_or(false)) return false;
  }
  return true;
}

Unifier::Outcome Unifier::Try(const Term& term, const ExprAttr& value) {
  if (term.kind() == Term::Kind::kSymbol && !values_[term.symbol()]) return BindSymbol(term, value);
  if (auto known = lemma::Evaluate(term, values_)) {
    return Agree(*known, value) ? Outcome::kHolds : Outcome::kFails;
  }
  if (term.kind() == Term::Kind::kList) return TryList(term, value);
  if (term.kind() == Term::Kind::kCall) return TryCall(term, value);
  return Outcome::kFails;
}

Unifier::Outcome Unifier::BindSymbol(const Term& symbol, const ExprAttr& value) {
  int i = symbol.symbol();
  if (!Fits(rule_->symbols[i].kind, value)) return Outcome::kFails;
  if (auto* list = std::get_if<Idx>(&value)) {
    if (lengths_[i] && *lengths_[i] != static_cast<int64_t>(list->size())) return Outcome::kFails;
  }
  values_[i] = value;
  return Outcome::kHolds;
}

std::optional<size_t> Unifier::LengthOf(const Term& term) const {
  if (term.kind() == Term::Kind::kSymbol && lengths_[term.symbol()]) {
    return static_cast<size_t>(*lengths_[term.symbol()]);
  }
  auto value = lemma::Evaluate(term, values_);
  if (!value || !std::holds_alternative<Idx>(*value)) return std::nullopt;
  return std::get<Idx>(*value).size();
}

Unifier::Outcome Unifier::TryList(const Term& list, const ExprAttr& value) {
  auto* elements = std::get_if<Idx>(&value);
  if (elements == nullptr) return Outcome::kFails;
  size_t known = 0;
  int unknown = -1;
  const std::vector<Term>& items = list.args();
  for (size_t i = 0; i < items.size(); ++i) {
    std::optional<size_t> length = list.IsSplice(i) ? LengthOf(items[i]) : 1;
    if (length) {
      known += *length;
    } else if (unknown >= 0) {
      return Outcome::kOpen;
    } else {
      unknown = static_cast<int>(i);
    }
  }
  if (known > elements->size() || (unknown < 0 && known < elements->size())) {
    return Outcome::kFails;
  }
  size_t at = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!list.IsSplice(i)) {
      if (!Equate(items[i], (*elements)[at++])) return Outcome::kFails;
      continue;
    }
    size_t length = static_cast<int>(i) == unknown ? elements->size() - known : *LengthOf(items[i]);
    Idx part(elements->begin() + at, elements->begin() + at + length);
    if (!Equate(items[i], ExprAttr(std::move(part)))) return Outcome::kFails;
    at += length;
  }
  return Outcome::kHolds;
}

Unifier::Outcome Unifier::TryCall(const Term& call, const ExprAttr& value) {
  if (call.fn() == TermFn::kLen) {
    const Term& list = call.args()[0];
    auto* length = std::get_if<IndexExpr>(&value);
    if (length == nullptr || !length->is_const() || length->value() < 0) return Outcome::kFails;
    if (list.kind() != Term::Kind::kSymbol) return Outcome::kOpen;
    auto& known = lengths_[list.symbol()];
    if (known && *known != length->value()) return Outcome::kFails;
    known = length->value();
    return Outcome::kHolds;
  }
  if (call.fn() == TermFn::kInverse) {
    auto* p = std::get_if<Idx>(&value);
    if (p == nullptr) return Outcome::kFails;
    auto inverse =
        lemma::Evaluate(Term::Call(TermFn::kInverse, {Term::Of(*ToAttrValue(value))}), values_);
    return inverse ? Try(call.args()[0], *inverse) : Outcome::kFails;
  }
  if (call.args().size() != 2) return Outcome::kOpen;
  for (int known = 0; known < 2; ++known) {
    if (auto other = lemma::Evaluate(call.args()[known], values_)) {
      return Undo(call, known, *other, value);
    }
  }
  return Outcome::kOpen;
}

// Solves fn(a, b) = value for one argument. Argument number `known` has the value `other`.
Unifier::Outcome Unifier::Undo(const Term& call, int known, const ExprAttr& other,
                               const ExprAttr& value) {
  const Term& unknown = call.args()[1 - known];
  auto *a = std::get_if<IndexExpr>(&other), *v = std::get_if<IndexExpr>(&value);
  if (a == nullptr || v == nullptr) return Outcome::kOpen;
  if (!a->is_const() || !v->is_const()) return UndoSymbolic(call.fn(), known, unknown, *a, *v);
  int64_t x = a->value(), y = v->value(), solution = 0;
  switch (call.fn()) {
    case TermFn::kAdd:
      if (__builtin_sub_overflow(y, x, &solution)) return Outcome::kFails;
      break;
    case TermFn::kSub:
      if (known == 0 ? __builtin_sub_overflow(x, y, &solution)
                     : __builtin_add_overflow(x, y, &solution)) {
        return Outcome::kFails;
      }
      break;
    case TermFn::kMul:
      if (x == 0) return y == 0 ? Outcome::kOpen : Outcome::kFails;
      if (x == -1 || y % x != 0) return x == -1 ? Outcome::kOpen : Outcome::kFails;
      solution = y / x;
      break;
    default:
      return Outcome::kOpen;
  }
  return Try(unknown, ExprAttr(IndexExpr(solution)));
}

// The same for symbolic sizes. A product is undone only if the quotient is exact for all sizes.
Unifier::Outcome Unifier::UndoSymbolic(TermFn fn, int known, const Term& unknown,
                                       const IndexExpr& a, const IndexExpr& v) {
  IndexExpr solution = 0;
  switch (fn) {
    case TermFn::kAdd:
      solution = v - a;
      break;
    case TermFn::kSub:
      solution = known == 0 ? a - v : v + a;
      break;
    case TermFn::kMul:
      if (Decide(Le(1, a)) != true) return Outcome::kOpen;
      solution = FloorDiv(v, a);
      if (!AreEqual(solution * a, v)) return Outcome::kFails;
      break;
    default:
      return Outcome::kOpen;
  }
  auto size = ToSize(solution);
  return size ? Try(unknown, ExprAttr(ToExpr(*size))) : Outcome::kOpen;
}

}  // namespace lemma
