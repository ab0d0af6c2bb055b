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

// Scalar functions: scalar_functions.inc, with a row for each, says what they are.
enum class ScalarFn {
#define LEMMA_FN(id, name, arity, traits, real, integer, field, gradient) id,
#define LEMMA_REAL_FN(id, name, arity, traits, real, field, gradient) id,
#define LEMMA_STORED_FN(id, name, traits, dtype) id,
#include "graph/expr/scalar_functions.inc"
};
constexpr int kNumScalarFns = static_cast<int>(ScalarFn::kStoredBool) + 1;

enum class Symmetry {
  kNone,
  kOdd,   // f(-x) = -f(x)
  kEven,  // f(-x) = f(x)
};

namespace scalar_fn {

// What is known of a function, whatever its arguments.
enum Traits : unsigned {
  kAlgebraic = 1,        // exact in any field
  kCommutative = 2,      // f(a, b) = f(b, a)
  kExact = 4,            // of values of a float type the result (of `where` that of b and c) is one
                         // too: never rounded
  kOdd = 8,              // f(-x) = -f(x), where x is one number
  kEven = 16,            // f(-x) = f(x), where x is one number
  kTruth = 32,           // the value is 0 or 1
  kStep = 64,            // the value jumps somewhere, as rounding to integers does
  kPartial = 128,        // no number for some finite arguments
  kKeepsIntegers = 256,  // of integers an integer, exactly
  kCheap = 512,          // about as fast as an addition
  kIntegral = 1024,      // has a value in int64_t: of the rows that give one
};

struct Row {
  const char* name;
  int arity;
  unsigned traits;

  constexpr bool algebraic() const { return traits & kAlgebraic; }
  constexpr bool commutative() const { return traits & kCommutative; }
  constexpr bool exact() const { return traits & kExact; }
  constexpr bool partial() const { return traits & kPartial; }
  constexpr bool cheap() const { return traits & kCheap; }
  constexpr bool keeps_integers() const { return traits & kKeepsIntegers; }
  constexpr bool integral() const { return traits & kIntegral; }
  constexpr bool truth() const { return traits & kTruth; }
  // Rounding of the arguments may change the value a lot. `where` jumps with its condition, and is
  // none of these.
  constexpr bool discontinuous() const { return traits & (kTruth | kStep); }
  constexpr Symmetry symmetry() const {
    return traits & kOdd ? Symmetry::kOdd : traits & kEven ? Symmetry::kEven : Symmetry::kNone;
  }
};

inline constexpr Row kTable[kNumScalarFns] = {
#define LEMMA_FN(id, name, arity, traits, real, integer, field, gradient) \
  {#name, arity, (traits) | kIntegral},
#define LEMMA_REAL_FN(id, name, arity, traits, real, field, gradient) {#name, arity, (traits)},
#define LEMMA_STORED_FN(id, name, traits, dtype) \
  {#name, 1, (traits) | (DType::k##dtype >= DType::kI64 ? unsigned{kIntegral} : 0u)},
#include "graph/expr/scalar_functions.inc"
};

}  // namespace scalar_fn

constexpr const scalar_fn::Row& Info(ScalarFn fn) {
  return scalar_fn::kTable[static_cast<int>(fn)];
}

constexpr ScalarFn StoredAs(DType dtype) {
  return static_cast<ScalarFn>(static_cast<int>(ScalarFn::kStoredF32) + static_cast<int>(dtype));
}
static_assert(StoredAs(DType::kBool) == ScalarFn::kStoredBool);
constexpr bool IsStored(ScalarFn fn) { return fn >= ScalarFn::kStoredF32; }

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
