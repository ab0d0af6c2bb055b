// Integer expressions over size symbols and index variables, and guards: conditions on them.
//
// An operator's definition uses IndexExpr to say which element it reads and how large an axis is.
// Sizes and integer attributes are constants (in a concrete graph) or symbols (in a rule); one
// definition serves both. Values are immutable and cheap to copy; constants need no allocation.
// Construction folds constants and neutral elements (x + 0, 1 * x). Constants that would overflow
// 64 bits are not folded.
#ifndef LEMMA_GRAPH_EXPR_INDEX_EXPR_H_
#define LEMMA_GRAPH_EXPR_INDEX_EXPR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lemma {

// The number of an output index or of a reduction axis inside one definition.
using VarId = int32_t;

struct ScalarNode;  // graph/expr/scalar_expr.h
struct IndexNode;

class IndexExpr {
 public:
  enum class Kind {
    kConst,     // value()
    kSymbol,    // name(): an unknown but fixed size or integer attribute
    kVar,       // var(): an output index or a reduction axis
    kAdd,       // lhs() + rhs()
    kMul,       // lhs() * rhs()
    kFloorDiv,  // floor(lhs() / rhs()), rhs() > 0
    kMod,       // lhs() - rhs() * floor(lhs() / rhs()), rhs() > 0
    kMin,       // min(lhs(), rhs())
    kMax,       // max(lhs(), rhs())
    kLoad,      // load(): an integer element of a tensor (gather)
  };

  IndexExpr(int64_t value = 0) : value_(value) {}  // NOLINT: a constant reads as itself
  static IndexExpr Symbol(std::string name);
  static IndexExpr Var(VarId var);
  // A data-dependent index: the value of a scalar expression, which must be an integer. `scalar`
  // must not be null.
  static IndexExpr Load(std::shared_ptr<const ScalarNode> scalar);

  Kind kind() const;
  bool is_const() const { return node_ == nullptr; }
  // The constant's value; only for kConst.
  int64_t value() const { return value_; }
  std::optional<int64_t> AsConst() const {
    if (is_const()) return value_;
    return std::nullopt;
  }
  // Each function is only for the kinds that name it above.
  const std::string& name() const;
  VarId var() const;
  const IndexExpr& lhs() const;
  const IndexExpr& rhs() const;
  const std::shared_ptr<const ScalarNode>& load() const;

  // Identifies the shared node; nullptr for constants. For memo tables only, never for ordering.
  const IndexNode* node() const { return node_.get(); }

  // "((2*i0) + n)". Variable 0 is written "i0", a load "[…]".
  std::string ToString() const;

 private:
  friend IndexExpr MakeBinary(Kind kind, IndexExpr a, IndexExpr b);
  explicit IndexExpr(std::shared_ptr<const IndexNode> node) : node_(std::move(node)) {}

  int64_t value_ = 0;
  std::shared_ptr<const IndexNode> node_;
};

// Apart from `kind`, a field is set only for the kinds that use it.
struct IndexNode {
  IndexExpr::Kind kind;
  VarId var = -1;
  std::string name;
  IndexExpr lhs, rhs;
  std::shared_ptr<const ScalarNode> load;
};

IndexExpr operator+(const IndexExpr& a, const IndexExpr& b);
IndexExpr operator-(const IndexExpr& a, const IndexExpr& b);
IndexExpr operator-(const IndexExpr& a);
IndexExpr operator*(const IndexExpr& a, const IndexExpr& b);
// An expression of one of the kinds that have two operands: kAdd to kMax.
IndexExpr Binary(IndexExpr::Kind kind, const IndexExpr& a, const IndexExpr& b);
// Quotients and remainders have a value only if b > 0, which is not checked.
IndexExpr FloorDiv(const IndexExpr& a, const IndexExpr& b);
IndexExpr CeilDiv(const IndexExpr& a, const IndexExpr& b);
IndexExpr Mod(const IndexExpr& a, const IndexExpr& b);
IndexExpr Min(const IndexExpr& a, const IndexExpr& b);
IndexExpr Max(const IndexExpr& a, const IndexExpr& b);

using Idx = std::vector<IndexExpr>;

// Product of the dimensions dims[begin, end); 1 if there are none.
IndexExpr Product(const Idx& dims, size_t begin, size_t end);
inline IndexExpr Product(const Idx& dims) { return Product(dims, 0, dims.size()); }

// Whether both are the same tree, node for node; loads are the same if they share their node. Trees
// that differ may still be equal in value.
bool Identical(const IndexExpr& a, const IndexExpr& b);

// The values of an index expression's leaves. A function returns nullopt for an unknown value; an
// empty function means that all values are unknown.
struct IndexEnv {
  std::function<std::optional<int64_t>(VarId)> var;
  std::function<std::optional<int64_t>(const std::string&)> symbol;
};
// The value of `e` under `env`; nullopt if a leaf is unknown or data-dependent, if a divisor is not
// positive, or on overflow.
std::optional<int64_t> EvaluateIndex(const IndexExpr& e, const IndexEnv& env);

// A closed interval of integers.
struct Interval {
  int64_t lo = 0, hi = 0;
};
// Bounds of `e` from the bounds of its variables, which `var` gives. The bounds need not be tight.
// nullopt means no bounds: for symbols, for data-dependent indices, for variables without bounds,
// for a result that may overflow, and for a divisor that may be 0 or less.
std::optional<Interval> BoundIndex(const IndexExpr& e,
                                   const std::function<std::optional<Interval>(VarId)>& var);

// A boolean combination of comparisons between index expressions.
class Guard {
 public:
  enum class Kind { kTrue, kFalse, kLe, kEq, kAnd, kOr, kNot };

  Guard() : Guard(true) {}
  Guard(bool value);  // NOLINT: a constant reads as itself

  Kind kind() const;
  bool is_true() const { return kind() == Kind::kTrue; }
  bool is_false() const { return kind() == Kind::kFalse; }
  // Operands of kLe (lhs <= rhs) and kEq.
  const IndexExpr& lhs() const;
  const IndexExpr& rhs() const;
  // Operands of kAnd, kOr (both) and kNot (left only).
  const Guard& left() const;
  const Guard& right() const;

  std::string ToString() const;

  struct Node;

 private:
  friend Guard MakeGuard(Kind kind, IndexExpr a, IndexExpr b);
  friend Guard operator&&(const Guard& a, const Guard& b);
  friend Guard operator||(const Guard& a, const Guard& b);
  friend Guard operator!(const Guard& a);
  explicit Guard(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  bool constant_ = true;
  std::shared_ptr<const Node> node_;  // nullptr: constant_
};

struct Guard::Node {
  Kind kind;
  IndexExpr lhs, rhs;
  Guard left, right;
};

Guard Le(const IndexExpr& a, const IndexExpr& b);
Guard Lt(const IndexExpr& a, const IndexExpr& b);
Guard Ge(const IndexExpr& a, const IndexExpr& b);
Guard Gt(const IndexExpr& a, const IndexExpr& b);
Guard Eq(const IndexExpr& a, const IndexExpr& b);
Guard Ne(const IndexExpr& a, const IndexExpr& b);
Guard operator&&(const Guard& a, const Guard& b);
Guard operator||(const Guard& a, const Guard& b);
Guard operator!(const Guard& a);

// 0 <= i < extent.
Guard InRange(const IndexExpr& i, const IndexExpr& extent);

// The value of `g` under `env`; nullopt if the value depends on an index expression for which
// EvaluateIndex returns nullopt.
std::optional<bool> EvaluateGuard(const Guard& g, const IndexEnv& env);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_INDEX_EXPR_H_
