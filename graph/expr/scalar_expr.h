// Scalar expressions: the value of one tensor element, as a function of its index.
//
// This is the language in which every operator is defined, once (docs/architecture.md). Everything
// else about an operator is read off such an expression: its reference execution, its fingerprint
// in a finite field, its operation count, its generated kernel and its proofs.
#ifndef LEMMA_GRAPH_EXPR_SCALAR_EXPR_H_
#define LEMMA_GRAPH_EXPR_SCALAR_EXPR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "graph/expr/index_expr.h"

namespace lemma {

// Numbers a tensor inside one definition: the inputs first, then the tensors the definition makes.
using TensorId = int32_t;

// Scalar functions. The ones marked algebraic are computed exactly in a field; all others are
// uninterpreted there (random oracles) unless a law is stated where they are used.
enum class ScalarFn {
  kAdd,  // algebraic
  kSub,  // algebraic
  kMul,  // algebraic
  kDiv,  // algebraic
  kNeg,  // algebraic
  kMin,
  kMax,
  kAbs,
  kSign,
  kFloor,
  kCeil,
  kRound,  // to nearest, ties to even
  kTrunc,  // towards zero: also the conversion to an integer type
  kMod,    // a - b * floor(a / b): the sign of the divisor
  kFmod,   // a - b * trunc(a / b): the sign of the dividend
  kExp,
  kLog,
  kSqrt,
  kPow,
  kErf,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  // Truth values are 0 and 1.
  kLess,   // a < b
  kEqual,  // a == b
  kAnd,
  kOr,
  kNot,
  kIsNan,
  kIsInf,
  kWhere,  // a != 0 ? b : c
  // What storing a number as an element type and loading it again gives (evaluate.h); one for each
  // DType, in its order. Composition puts them where a graph stores a value between operators. In a
  // field these are unknown functions.
  kStoredF32,
  kStoredF64,
  kStoredF16,
  kStoredBF16,
  kStoredI64,
  kStoredI32,
  kStoredI8,
  kStoredU8,
  kStoredBool,
};

enum class Symmetry {
  kNone,
  kOdd,   // f(-x) = -f(x)
  kEven,  // f(-x) = f(x)
};

struct ScalarFnInfo {
  const char* name;
  int arity;
  bool algebraic;    // exact in any field
  bool commutative;  // f(a, b) = f(b, a)
  // Of values of a float type the result (of `where` that of b and c) is one too: never rounded.
  bool exact = false;
  Symmetry symmetry = Symmetry::kNone;  // where x is one number
};
const ScalarFnInfo& Info(ScalarFn fn);
constexpr int kNumScalarFns = static_cast<int>(ScalarFn::kStoredBool) + 1;

constexpr ScalarFn StoredAs(DType dtype) {
  return static_cast<ScalarFn>(static_cast<int>(ScalarFn::kStoredF32) + static_cast<int>(dtype));
}
static_assert(StoredAs(DType::kBool) == ScalarFn::kStoredBool);
constexpr bool IsStored(ScalarFn fn) { return fn >= ScalarFn::kStoredF32; }

// Whether fn of integers is an integer.
constexpr bool HasIntegers(ScalarFn fn) {
  switch (fn) {
    case ScalarFn::kExp:
    case ScalarFn::kLog:
    case ScalarFn::kSqrt:
    case ScalarFn::kErf:
    case ScalarFn::kSin:
    case ScalarFn::kCos:
    case ScalarFn::kTan:
    case ScalarFn::kAsin:
    case ScalarFn::kAcos:
    case ScalarFn::kAtan:
    case ScalarFn::kSinh:
    case ScalarFn::kCosh:
    case ScalarFn::kTanh:
    case ScalarFn::kAsinh:
    case ScalarFn::kAcosh:
    case ScalarFn::kAtanh:
    case ScalarFn::kStoredF32:
    case ScalarFn::kStoredF64:
    case ScalarFn::kStoredF16:
    case ScalarFn::kStoredBF16:
      return false;
    default:
      return true;
  }
}

enum class ReduceKind { kSum, kProd, kMax, kMin };
const char* Name(ReduceKind kind);

// An index variable that runs over 0 <= var < extent.
struct Axis {
  VarId var = -1;
  IndexExpr extent;
};

class ScalarExpr {
 public:
  enum class Kind {
    kConst,   // value()
    kParam,   // name(): a real attribute, fixed but unknown (rules only)
    kIndex,   // index(): an index as a number
    kRead,    // tensor() at indices(); every index must lie inside the tensor
    kApply,   // fn() of args()
    kSelect,  // guard() ? args()[0] : args()[1]; the branch not taken is not evaluated
    kReduce,  // reduce() over axes(), where guard() holds, of args()[0]; the extents may use outer
              // variables and earlier axes; over nothing: 0, 1, -inf, +inf
  };

  ScalarExpr(double value = 0);  // NOLINT: a constant reads as itself
  explicit ScalarExpr(std::shared_ptr<const ScalarNode> node) : node_(std::move(node)) {}
  static ScalarExpr Param(std::string name);
  static ScalarExpr Index(IndexExpr index);
  static ScalarExpr Read(TensorId tensor, Idx indices);
  static ScalarExpr Apply(ScalarFn fn, std::vector<ScalarExpr> args);
  static ScalarExpr Select(Guard guard, ScalarExpr then, ScalarExpr otherwise);
  static ScalarExpr Reduce(ReduceKind kind, std::vector<Axis> axes, Guard where, ScalarExpr body);

  Kind kind() const;
  double value() const;
  const std::string& name() const;
  const IndexExpr& index() const;
  TensorId tensor() const;
  const Idx& indices() const;
  ScalarFn fn() const;
  const std::vector<ScalarExpr>& args() const;
  const Guard& guard() const;
  ReduceKind reduce() const;
  const std::vector<Axis>& axes() const;

  // Never nullptr. Identity for memo tables only, never for ordering.
  const std::shared_ptr<const ScalarNode>& node() const { return node_; }

  std::string ToString() const;

 private:
  std::shared_ptr<const ScalarNode> node_;
};

struct ScalarNode {
  ScalarExpr::Kind kind = ScalarExpr::Kind::kConst;
  double value = 0;
  std::string name;
  IndexExpr index;
  TensorId tensor = -1;
  Idx indices;
  ScalarFn fn = ScalarFn::kAdd;
  std::vector<ScalarExpr> args;
  Guard guard;
  ReduceKind reduce = ReduceKind::kSum;
  std::vector<Axis> axes;
};

ScalarExpr operator+(const ScalarExpr& a, const ScalarExpr& b);
ScalarExpr operator-(const ScalarExpr& a, const ScalarExpr& b);
ScalarExpr operator*(const ScalarExpr& a, const ScalarExpr& b);
ScalarExpr operator/(const ScalarExpr& a, const ScalarExpr& b);
ScalarExpr operator-(const ScalarExpr& a);

// fn(a), fn(a, b), fn(a, b, c), checked against the function's arity.
ScalarExpr Apply(ScalarFn fn, const ScalarExpr& a);
ScalarExpr Apply(ScalarFn fn, const ScalarExpr& a, const ScalarExpr& b);
ScalarExpr Apply(ScalarFn fn, const ScalarExpr& a, const ScalarExpr& b, const ScalarExpr& c);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_SCALAR_EXPR_H_
