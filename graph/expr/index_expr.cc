#include "graph/expr/index_expr.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "graph/expr/scalar_expr.h"

namespace lemma {
namespace {

using Kind = IndexExpr::Kind;

int64_t FloorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

std::optional<int64_t> Fold(Kind kind, int64_t a, int64_t b) {
  int64_t r;
  switch (kind) {
    case Kind::kAdd:
      if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
      return r;
    case Kind::kMul:
      if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
      return r;
    case Kind::kFloorDiv:
      if (b <= 0) return std::nullopt;
      return FloorDivide(a, b);
    case Kind::kMod:
      if (b <= 0) return std::nullopt;
      r = a % b;  // a - b * FloorDivide(a, b) may overflow
      return r < 0 ? r + b : r;
    case Kind::kMin:
      return std::min(a, b);
    case Kind::kMax:
      return std::max(a, b);
    default:
      return std::nullopt;
  }
}

const char* Spelling(Kind kind) {
  switch (kind) {
    case Kind::kAdd:
      return " + ";
    case Kind::kMul:
      return "*";
    case Kind::kFloorDiv:
      return " div ";
    case Kind::kMod:
      return " mod ";
    case Kind::kMin:
      return " min ";
    case Kind::kMax:
      return " max ";
    default:
      return "?";
  }
}

}  // namespace

IndexExpr MakeBinary(Kind kind, IndexExpr a, IndexExpr b) {
  if (a.is_const() && b.is_const()) {
    if (auto folded = Fold(kind, a.value(), b.value())) return *folded;
  }
  auto node = std::make_shared<IndexNode>();
  node->kind = kind;
  node->lhs = std::move(a);
  node->rhs = std::move(b);
  return IndexExpr(std::shared_ptr<const IndexNode>(std::move(node)));
}

IndexExpr IndexExpr::Symbol(std::string name) {
  auto node = std::make_shared<IndexNode>();
  node->kind = Kind::kSymbol;
  node->name = std::move(name);
  return IndexExpr(std::shared_ptr<const IndexNode>(std::move(node)));
}

IndexExpr IndexExpr::Var(VarId var) {
  auto node = std::make_shared<IndexNode>();
  node->kind = Kind::kVar;
  node->var = var;
  return IndexExpr(std::shared_ptr<const IndexNode>(std::move(node)));
}

IndexExpr IndexExpr::Load(std::shared_ptr<const ScalarNode> scalar) {
  auto node = std::make_shared<IndexNode>();
  node->kind = Kind::kLoad;
  node->load = std::move(scalar);
  return IndexExpr(std::shared_ptr<const IndexNode>(std::move(node)));
}

Kind IndexExpr::kind() const { return node_ == nullptr ? Kind::kConst : node_->kind; }
const std::string& IndexExpr::name() const { return node_->name; }
VarId IndexExpr::var() const { return node_->var; }
const IndexExpr& IndexExpr::lhs() const { return node_->lhs; }
const IndexExpr& IndexExpr::rhs() const { return node_->rhs; }
const std::shared_ptr<const ScalarNode>& IndexExpr::load() const { return node_->load; }

IndexExpr operator+(const IndexExpr& a, const IndexExpr& b) {
  if (a.is_const() && a.value() == 0) return b;
  if (b.is_const() && b.value() == 0) return a;
  // (e + c1) + c2 = e + (c1 + c2), so that p*stride + r - pad stays short.
  if (b.is_const() && a.kind() == Kind::kAdd && a.rhs().is_const()) {
    return a.lhs() + (a.rhs() + b);
  }
  return MakeBinary(Kind::kAdd, a, b);
}

IndexExpr operator-(const IndexExpr& a) { return IndexExpr(-1) * a; }

IndexExpr operator-(const IndexExpr& a, const IndexExpr& b) {
  if (Identical(a, b)) return 0;
  return a + (-b);
}

IndexExpr operator*(const IndexExpr& a, const IndexExpr& b) {
  if (b.is_const() && !a.is_const()) return b * a;
  if (a.is_const()) {
    if (a.value() == 0) return 0;
    if (a.value() == 1) return b;
    if (b.kind() == Kind::kMul && b.lhs().is_const()) return (a * b.lhs()) * b.rhs();
  }
  return MakeBinary(Kind::kMul, a, b);
}

IndexExpr FloorDiv(const IndexExpr& a, const IndexExpr& b) {
  if (b.is_const() && b.value() == 1) return a;
  if (a.is_const() && a.value() == 0) return 0;
  return MakeBinary(Kind::kFloorDiv, a, b);
}

IndexExpr CeilDiv(const IndexExpr& a, const IndexExpr& b) {
  if (a.is_const() && b.is_const()) return -FloorDiv(-a, b);
  // The form of the number of windows, so that equal sizes have one normal form.
  return FloorDiv(a + (b - 1), b);
}

IndexExpr Mod(const IndexExpr& a, const IndexExpr& b) {
  if (b.is_const() && b.value() == 1) return 0;
  if (a.is_const() && a.value() == 0) return 0;
  return MakeBinary(Kind::kMod, a, b);
}

IndexExpr Min(const IndexExpr& a, const IndexExpr& b) {
  if (Identical(a, b)) return a;
  return MakeBinary(Kind::kMin, a, b);
}

IndexExpr Max(const IndexExpr& a, const IndexExpr& b) {
  if (Identical(a, b)) return a;
  return MakeBinary(Kind::kMax, a, b);
}

IndexExpr Binary(Kind kind, const IndexExpr& a, const IndexExpr& b) {
  switch (kind) {
    case Kind::kAdd:
      return a + b;
    case Kind::kMul:
      return a * b;
    case Kind::kFloorDiv:
      return FloorDiv(a, b);
    case Kind::kMod:
      return Mod(a, b);
    case Kind::kMin:
      return Min(a, b);
    case Kind::kMax:
      return Max(a, b);
    default:
      std::abort();
  }
}

IndexExpr Product(const Idx& dims, size_t begin, size_t end) {
  IndexExpr result = 1;
  for (size_t i = begin; i < end; ++i) result = result * dims[i];
  return result;
}

bool Identical(const IndexExpr& a, const IndexExpr& b) {
  if (a.node() == b.node()) return !a.is_const() || a.value() == b.value();
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kConst:
      return a.value() == b.value();
    case Kind::kSymbol:
      return a.name() == b.name();
    case Kind::kVar:
      return a.var() == b.var();
    case Kind::kLoad:
      return a.load() == b.load();
    default:
      return Identical(a.lhs(), b.lhs()) && Identical(a.rhs(), b.rhs());
  }
}

std::string IndexExpr::ToString() const {
  switch (kind()) {
    case Kind::kConst:
      return absl::StrCat(value_);
    case Kind::kSymbol:
      return name();
    case Kind::kVar:
      return absl::StrCat("i", var());
    case Kind::kLoad:
      return absl::StrCat("[", ScalarExpr(load()).ToString(), "]");
    default:
      return absl::StrCat("(", lhs().ToString(), Spelling(kind()), rhs().ToString(), ")");
  }
}

std::optional<int64_t> EvaluateIndex(const IndexExpr& e, const IndexEnv& env) {
  switch (e.kind()) {
    case Kind::kConst:
      return e.value();
    case Kind::kSymbol:
      return env.symbol ? env.symbol(e.name()) : std::nullopt;
    case Kind::kVar:
      return env.var ? env.var(e.var()) : std::nullopt;
    case Kind::kLoad:
      return std::nullopt;
    default: {
      auto a = EvaluateIndex(e.lhs(), env);
      if (!a) return std::nullopt;
      auto b = EvaluateIndex(e.rhs(), env);
      if (!b) return std::nullopt;
      return Fold(e.kind(), *a, *b);
    }
  }
}

std::optional<Interval> BoundIndex(const IndexExpr& e,
                                   const std::function<std::optional<Interval>(VarId)>& var) {
  switch (e.kind()) {
    case Kind::kConst:
      return Interval{e.value(), e.value()};
    case Kind::kSymbol:
    case Kind::kLoad:
      return std::nullopt;
    case Kind::kVar:
      return var(e.var());
    default:
      break;
  }
  auto a = BoundIndex(e.lhs(), var);
  auto b = BoundIndex(e.rhs(), var);
  if (!a || !b) return std::nullopt;
  if (e.kind() == Kind::kMod) {
    if (b->lo <= 0) return std::nullopt;
    if (b->lo == b->hi && FloorDivide(a->lo, b->lo) == FloorDivide(a->hi, b->lo)) {
      return Interval{a->lo - b->lo * FloorDivide(a->lo, b->lo),
                      a->hi - b->lo * FloorDivide(a->hi, b->lo)};
    }
    return Interval{0, b->hi - 1};
  }
  // The other operations are monotone in each argument on each side of zero: extremes are corners.
  std::optional<Interval> result;
  for (int64_t x : {a->lo, a->hi}) {
    for (int64_t y : {b->lo, b->hi}) {
      auto v = Fold(e.kind(), x, y);
      if (!v) return std::nullopt;
      if (!result) result = Interval{*v, *v};
      result->lo = std::min(result->lo, *v);
      result->hi = std::max(result->hi, *v);
    }
  }
  return result;
}

Guard::Guard(bool value) : constant_(value) {}

Guard::Kind Guard::kind() const {
  if (node_ == nullptr) return constant_ ? Kind::kTrue : Kind::kFalse;
  return node_->kind;
}
const IndexExpr& Guard::lhs() const { return node_->lhs; }
const IndexExpr& Guard::rhs() const { return node_->rhs; }
const Guard& Guard::left() const { return node_->left; }
const Guard& Guard::right() const { return node_->right; }

Guard MakeGuard(Guard::Kind kind, IndexExpr a, IndexExpr b) {
  if (a.is_const() && b.is_const()) {
    return Guard(kind == Guard::Kind::kLe ? a.value() <= b.value() : a.value() == b.value());
  }
  if (Identical(a, b)) return Guard(true);
  auto node = std::make_shared<Guard::Node>();
  node->kind = kind;
  node->lhs = std::move(a);
  node->rhs = std::move(b);
  return Guard(std::shared_ptr<const Guard::Node>(std::move(node)));
}

Guard Le(const IndexExpr& a, const IndexExpr& b) { return MakeGuard(Guard::Kind::kLe, a, b); }
Guard Lt(const IndexExpr& a, const IndexExpr& b) { return Le(a + 1, b); }
Guard Ge(const IndexExpr& a, const IndexExpr& b) { return Le(b, a); }
Guard Gt(const IndexExpr& a, const IndexExpr& b) { return Lt(b, a); }
Guard Eq(const IndexExpr& a, const IndexExpr& b) { return MakeGuard(Guard::Kind::kEq, a, b); }
Guard Ne(const IndexExpr& a, const IndexExpr& b) { return !Eq(a, b); }

Guard operator&&(const Guard& a, const Guard& b) {
  if (a.is_true()) return b;
  if (b.is_true()) return a;
  if (a.is_false() || b.is_false()) return Guard(false);
  auto node = std::make_shared<Guard::Node>();
  node->kind = Guard::Kind::kAnd;
  node->left = a;
  node->right = b;
  return Guard(std::shared_ptr<const Guard::Node>(std::move(node)));
}

Guard operator||(const Guard& a, const Guard& b) {
  if (a.is_false()) return b;
  if (b.is_false()) return a;
  if (a.is_true() || b.is_true()) return Guard(true);
  auto node = std::make_shared<Guard::Node>();
  node->kind = Guard::Kind::kOr;
  node->left = a;
  node->right = b;
  return Guard(std::shared_ptr<const Guard::Node>(std::move(node)));
}

Guard operator!(const Guard& a) {
  if (a.is_true()) return Guard(false);
  if (a.is_false()) return Guard(true);
  if (a.kind() == Guard::Kind::kNot) return a.left();
  auto node = std::make_shared<Guard::Node>();
  node->kind = Guard::Kind::kNot;
  node->left = a;
  return Guard(std::shared_ptr<const Guard::Node>(std::move(node)));
}

Guard InRange(const IndexExpr& i, const IndexExpr& extent) { return Ge(i, 0) && Lt(i, extent); }

std::string Guard::ToString() const {
  switch (kind()) {
    case Kind::kTrue:
      return "true";
    case Kind::kFalse:
      return "false";
    case Kind::kLe:
      return absl::StrCat(lhs().ToString(), " <= ", rhs().ToString());
    case Kind::kEq:
      return absl::StrCat(lhs().ToString(), " == ", rhs().ToString());
    case Kind::kAnd:
      return absl::StrCat("(", left().ToString(), " and ", right().ToString(), ")");
    case Kind::kOr:
      return absl::StrCat("(", left().ToString(), " or ", right().ToString(), ")");
    case Kind::kNot:
      return absl::StrCat("not (", left().ToString(), ")");
  }
  return "?";
}

std::optional<bool> EvaluateGuard(const Guard& g, const IndexEnv& env) {
  switch (g.kind()) {
    case Guard::Kind::kTrue:
      return true;
    case Guard::Kind::kFalse:
      return false;
    case Guard::Kind::kLe:
    case Guard::Kind::kEq: {
      auto a = EvaluateIndex(g.lhs(), env);
      auto b = EvaluateIndex(g.rhs(), env);
      if (!a || !b) return std::nullopt;
      return g.kind() == Guard::Kind::kLe ? *a <= *b : *a == *b;
    }
    case Guard::Kind::kNot: {
      auto a = EvaluateGuard(g.left(), env);
      if (!a) return std::nullopt;
      return !*a;
    }
    case Guard::Kind::kAnd:
    case Guard::Kind::kOr: {
      bool absorbing = g.kind() == Guard::Kind::kOr;
      auto a = EvaluateGuard(g.left(), env);
      if (a && *a == absorbing) return absorbing;
      auto b = EvaluateGuard(g.right(), env);
      if (b && *b == absorbing) return absorbing;
      if (!a || !b) return std::nullopt;
      return !absorbing;
    }
  }
  return std::nullopt;
}

}  // namespace lemma
