#include "rewrite/rules/term.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

constexpr TermFnInfo kInfo[] = {
    {"+", 2},       {"-", 2},       {"*", 2},    {"div", 2},     {"mod", 2},
    {"min", 2},     {"max", 2},     {"len", 1},  {"product", 1}, {"compose", 2},
    {"inverse", 1}, {"permute", 2}, {"iota", 1}, {"repeat", 2},  {"broadcast", 2},
};

using OptionalAttr = std::optional<ExprAttr>;

// Lists written with a few characters must stay small.
constexpr int64_t kLongestList = 64;

std::optional<std::vector<int64_t>> Constants(const Idx& list) {
  std::vector<int64_t> result;
  for (const IndexExpr& i : list) {
    if (!i.is_const()) return std::nullopt;
    result.push_back(i.value());
  }
  return result;
}

bool IsPermutation(const std::vector<int64_t>& p) {
  std::vector<bool> seen(p.size());
  for (int64_t i : p) {
    if (i < 0 || i >= static_cast<int64_t>(p.size()) || seen[i]) return false;
    seen[i] = true;
  }
  return true;
}

// permute(s, p).
OptionalAttr Permute(const Idx& s, const Idx& p) {
  auto order = Constants(p);
  if (!order || order->size() != s.size() || !IsPermutation(*order)) return std::nullopt;
  Idx result;
  for (int64_t i : *order) result.push_back(s[i]);
  return ExprAttr(result);
}

OptionalAttr Inverse(const Idx& p) {
  auto order = Constants(p);
  if (!order || !IsPermutation(*order)) return std::nullopt;
  Idx result(p.size());
  for (size_t i = 0; i < p.size(); ++i) result[(*order)[i]] = static_cast<int64_t>(i);
  return ExprAttr(result);
}

OptionalAttr Broadcast(const Idx& s, const Idx& t) {
  const Idx &longer = s.size() >= t.size() ? s : t, &shorter = s.size() >= t.size() ? t : s;
  Idx result = longer;
  size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const IndexExpr &a = longer[offset + i], &b = shorter[i];
    if (Identical(a, b) || b.AsConst() == 1) continue;
    if (a.AsConst() != 1) return std::nullopt;
    result[offset + i] = b;
  }
  return ExprAttr(result);
}

std::optional<IndexExpr> Arithmetic(TermFn fn, const IndexExpr& a, const IndexExpr& b) {
  switch (fn) {
    case TermFn::kAdd:
    case TermFn::kSub:
    case TermFn::kMul: {
      if (a.is_const() && b.is_const()) {
        int64_t r;
        bool overflow = fn == TermFn::kAdd   ? __builtin_add_overflow(a.value(), b.value(), &r)
                        : fn == TermFn::kSub ? __builtin_sub_overflow(a.value(), b.value(), &r)
                                             : __builtin_mul_overflow(a.value(), b.value(), &r);
        if (overflow) return std::nullopt;
        return IndexExpr(r);
      }
      return fn == TermFn::kAdd ? a + b : fn == TermFn::kSub ? a - b : a * b;
    }
    case TermFn::kDiv:
    case TermFn::kMod:
      if (b.is_const() && b.value() <= 0) return std::nullopt;
      return fn == TermFn::kDiv ? FloorDiv(a, b) : Mod(a, b);
    case TermFn::kMin:
      return Min(a, b);
    case TermFn::kMax:
      return Max(a, b);
    default:
      return std::nullopt;
  }
}

OptionalAttr RealArithmetic(TermFn fn, const ScalarExpr& a, const ScalarExpr& b) {
  bool constant = a.kind() == ScalarExpr::Kind::kConst && b.kind() == ScalarExpr::Kind::kConst;
  switch (fn) {
    case TermFn::kAdd:
      return ExprAttr(constant ? ScalarExpr(a.value() + b.value()) : a + b);
    case TermFn::kSub:
      return ExprAttr(constant ? ScalarExpr(a.value() - b.value()) : a - b);
    case TermFn::kMul:
      return ExprAttr(constant ? ScalarExpr(a.value() * b.value()) : a * b);
    case TermFn::kMin:
      return ExprAttr(constant ? ScalarExpr(std::min(a.value(), b.value()))
                               : Apply(ScalarFn::kMin, a, b));
    case TermFn::kMax:
      return ExprAttr(constant ? ScalarExpr(std::max(a.value(), b.value()))
                               : Apply(ScalarFn::kMax, a, b));
    default:
      return std::nullopt;
  }
}

ScalarExpr Widen(const ExprAttr& value) {
  if (auto* real = std::get_if<ScalarExpr>(&value)) return *real;
  const IndexExpr& index = std::get<IndexExpr>(value);
  return index.is_const() ? ScalarExpr(static_cast<double>(index.value()))
                          : ScalarExpr::Index(index);
}

// Operands: integers, reals (integers are converted), or lists, element by element.
OptionalAttr ApplyArithmetic(TermFn fn, const ExprAttr& a, const ExprAttr& b) {
  auto *list_a = std::get_if<Idx>(&a), *list_b = std::get_if<Idx>(&b);
  if (list_a != nullptr && list_b != nullptr) {
    if (list_a->size() != list_b->size()) return std::nullopt;
    Idx result;
    for (size_t i = 0; i < list_a->size(); ++i) {
      auto element = Arithmetic(fn, (*list_a)[i], (*list_b)[i]);
      if (!element) return std::nullopt;
      result.push_back(*element);
    }
    return ExprAttr(result);
  }
  auto is_number = [](const ExprAttr& v) {
    return std::holds_alternative<IndexExpr>(v) || std::holds_alternative<ScalarExpr>(v);
  };
  if (!is_number(a) || !is_number(b)) return std::nullopt;
  if (std::holds_alternative<IndexExpr>(a) && std::holds_alternative<IndexExpr>(b)) {
    auto result = Arithmetic(fn, std::get<IndexExpr>(a), std::get<IndexExpr>(b));
    if (!result) return std::nullopt;
    return ExprAttr(*result);
  }
  return RealArithmetic(fn, Widen(a), Widen(b));
}

std::optional<int64_t> SmallCount(const ExprAttr& value) {
  auto* index = std::get_if<IndexExpr>(&value);
  if (index == nullptr || !index->is_const() || index->value() < 0 ||
      index->value() > kLongestList) {
    return std::nullopt;
  }
  return index->value();
}

OptionalAttr ApplyFn(TermFn fn, absl::Span<const ExprAttr> args) {
  auto list = [&](size_t i) { return std::get_if<Idx>(&args[i]); };
  switch (fn) {
    case TermFn::kLen:
      if (list(0) == nullptr) return std::nullopt;
      return ExprAttr(IndexExpr(static_cast<int64_t>(list(0)->size())));
    case TermFn::kProduct:
      if (list(0) == nullptr) return std::nullopt;
      return ExprAttr(Product(*list(0)));
    case TermFn::kInverse:
      if (list(0) == nullptr) return std::nullopt;
      return Inverse(*list(0));
    case TermFn::kCompose:
    case TermFn::kPermute:
      // p[q[i]] is p permuted by q.
      if (list(0) == nullptr || list(1) == nullptr) return std::nullopt;
      return Permute(*list(0), *list(1));
    case TermFn::kBroadcast:
      if (list(0) == nullptr || list(1) == nullptr) return std::nullopt;
      return Broadcast(*list(0), *list(1));
    case TermFn::kIota: {
      auto n = SmallCount(args[0]);
      if (!n) return std::nullopt;
      Idx result;
      for (int64_t i = 0; i < *n; ++i) result.push_back(i);
      return ExprAttr(result);
    }
    case TermFn::kRepeat: {
      auto n = SmallCount(args[1]);
      auto* v = std::get_if<IndexExpr>(&args[0]);
      if (!n || v == nullptr) return std::nullopt;
      return ExprAttr(Idx(static_cast<size_t>(*n), *v));
    }
    default:
      return ApplyArithmetic(fn, args[0], args[1]);
  }
}

int Precedence(const Term& term) {
  if (term.kind() != Term::Kind::kCall) return 3;
  switch (term.fn()) {
    case TermFn::kAdd:
    case TermFn::kSub:
      return 1;
    case TermFn::kMul:
    case TermFn::kDiv:
    case TermFn::kMod:
      return 2;
    default:
      return 3;
  }
}

std::string Inside(const Term& term, int least) {
  std::string text = term.ToString();
  return Precedence(term) < least ? absl::StrCat("(", text, ")") : text;
}

}  // namespace

const TermFnInfo& Info(TermFn fn) { return kInfo[static_cast<int>(fn)]; }

const char* Name(SymbolKind kind) {
  static constexpr const char* kNames[] = {"of unknown kind", "an integer", "a real", "a string",
                                           "a list"};
  return kNames[static_cast<int>(kind)];
}

Term::Term(int64_t value) {
  auto node = std::make_shared<Node>();
  node->integer = value;
  node_ = std::move(node);
}

Term Term::Real(double value) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::kReal;
  node->real = value;
  return Term(std::shared_ptr<const Node>(std::move(node)));
}

Term Term::String(std::string value) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::kString;
  node->text = std::move(value);
  return Term(std::shared_ptr<const Node>(std::move(node)));
}

Term Term::Symbol(std::string name, int index) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::kSymbol;
  node->text = std::move(name);
  node->integer = index;
  return Term(std::shared_ptr<const Node>(std::move(node)));
}

Term Term::List(std::vector<Term> items, std::vector<bool> splice) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::kList;
  node->args = std::move(items);
  node->splice = std::move(splice);
  return Term(std::shared_ptr<const Node>(std::move(node)));
}

Term Term::Call(TermFn fn, std::vector<Term> args) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::kCall;
  node->fn = fn;
  node->args = std::move(args);
  return Term(std::shared_ptr<const Node>(std::move(node)));
}

Term Term::Of(const AttrValue& value) {
  if (auto* i = std::get_if<int64_t>(&value)) return Term(*i);
  if (auto* d = std::get_if<double>(&value)) return Real(*d);
  if (auto* s = std::get_if<std::string>(&value)) return String(*s);
  std::vector<Term> items;
  if (auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    for (int64_t i : *ints) items.push_back(Term(i));
  } else {
    for (double d : std::get<std::vector<double>>(value)) items.push_back(Real(d));
  }
  std::vector<bool> splice(items.size(), false);
  return List(std::move(items), std::move(splice));
}

std::string Term::ToString() const {
  switch (kind()) {
    case Kind::kInt:
      return absl::StrCat(integer());
    case Kind::kReal:
      return lemma::ToString(AttrValue(real()));
    case Kind::kString:
      return lemma::ToString(AttrValue(text()));
    case Kind::kSymbol:
      return text();
    case Kind::kList: {
      std::string list;
      for (size_t i = 0; i < args().size(); ++i) {
        absl::StrAppend(&list, i ? ", " : "", args()[i].ToString(), IsSplice(i) ? ".." : "");
      }
      return absl::StrCat("[", list, "]");
    }
    case Kind::kCall:
      break;
  }
  int precedence = Precedence(*this);
  if (precedence < 3) {
    return absl::StrCat(Inside(args()[0], precedence), " ", Info(fn()).name, " ",
                        Inside(args()[1], precedence + 1));
  }
  auto append = [](std::string* out, const Term& t) { out->append(t.ToString()); };
  return absl::StrCat(Info(fn()).name, "(", absl::StrJoin(args(), ", ", append), ")");
}

void Term::CollectSymbols(std::vector<int>* symbols) const {
  if (kind() == Kind::kSymbol) {
    if (std::find(symbols->begin(), symbols->end(), symbol()) == symbols->end()) {
      symbols->push_back(symbol());
    }
  }
  for (const Term& arg : args()) arg.CollectSymbols(symbols);
}

std::optional<ExprAttr> Evaluate(const Term& term, const SymbolValues& values) {
  switch (term.kind()) {
    case Term::Kind::kInt:
      return ExprAttr(IndexExpr(term.integer()));
    case Term::Kind::kReal:
      return ExprAttr(ScalarExpr(term.real()));
    case Term::Kind::kString:
      return ExprAttr(term.text());
    case Term::Kind::kSymbol:
      return values[term.symbol()];
    case Term::Kind::kList: {
      Idx list;
      std::vector<double> reals;
      for (size_t i = 0; i < term.args().size(); ++i) {
        auto item = Evaluate(term.args()[i], values);
        if (!item) return std::nullopt;
        if (auto* part = std::get_if<Idx>(&*item); part != nullptr && term.IsSplice(i)) {
          list.insert(list.end(), part->begin(), part->end());
        } else if (auto* index = std::get_if<IndexExpr>(&*item)) {
          list.push_back(*index);
        } else if (auto* real = std::get_if<ScalarExpr>(&*item);
                   real != nullptr && real->kind() == ScalarExpr::Kind::kConst) {
          reals.push_back(real->value());
        } else {
          return std::nullopt;
        }
      }
      if (!reals.empty()) {
        if (!list.empty()) return std::nullopt;
        return ExprAttr(reals);
      }
      return ExprAttr(std::move(list));
    }
    case Term::Kind::kCall: {
      std::vector<ExprAttr> args;
      for (const Term& arg : term.args()) {
        auto value = Evaluate(arg, values);
        if (!value) return std::nullopt;
        args.push_back(*std::move(value));
      }
      return ApplyFn(term.fn(), args);
    }
  }
  return std::nullopt;
}

bool SameValue(const ExprAttr& a, const ExprAttr& b) {
  if (a.index() != b.index()) return false;
  if (auto* i = std::get_if<IndexExpr>(&a)) return Identical(*i, std::get<IndexExpr>(b));
  if (auto* s = std::get_if<std::string>(&a)) return *s == std::get<std::string>(b);
  if (auto* d = std::get_if<std::vector<double>>(&a)) return *d == std::get<std::vector<double>>(b);
  if (auto* x = std::get_if<ScalarExpr>(&a)) {
    const ScalarExpr& y = std::get<ScalarExpr>(b);
    if (x->kind() != ScalarExpr::Kind::kConst || y.kind() != ScalarExpr::Kind::kConst) {
      return x->node() == y.node();
    }
    return x->value() == y.value();
  }
  const Idx &s = std::get<Idx>(a), &t = std::get<Idx>(b);
  return s.size() == t.size() && std::equal(s.begin(), s.end(), t.begin(), Identical);
}

std::optional<AttrValue> ToAttrValue(const ExprAttr& value) {
  if (auto* i = std::get_if<IndexExpr>(&value)) {
    auto size = ToSize(*i);
    if (!size) return std::nullopt;
    return AttrValue(*size);
  }
  if (auto* x = std::get_if<ScalarExpr>(&value)) {
    if (x->kind() != ScalarExpr::Kind::kConst) return std::nullopt;
    return AttrValue(x->value());
  }
  if (auto* s = std::get_if<std::string>(&value)) return AttrValue(*s);
  if (auto* d = std::get_if<std::vector<double>>(&value)) return AttrValue(*d);
  std::vector<int64_t> list;
  for (const IndexExpr& i : std::get<Idx>(value)) {
    auto size = ToSize(i);
    if (!size) return std::nullopt;
    list.push_back(*size);
  }
  return AttrValue(std::move(list));
}

ExprAttr ToExprAttr(const AttrValue& value) {
  if (auto* i = std::get_if<int64_t>(&value)) return ToExpr(*i);
  if (auto* d = std::get_if<double>(&value)) return ScalarExpr(*d);
  if (auto* s = std::get_if<std::string>(&value)) return *s;
  if (auto* list = std::get_if<std::vector<int64_t>>(&value)) return ToExprAttr(*list);
  return std::get<std::vector<double>>(value);
}

ExprAttr ToExprAttr(const std::vector<int64_t>& list) { return ToExprs(list); }

}  // namespace lemma
