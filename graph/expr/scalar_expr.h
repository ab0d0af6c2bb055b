// Scalar expressions: the value of one tensor element as a function of its index.
//
// Every operator is defined once, in this language (docs/architecture.md). Everything else is
// derived from that definition: the operator's reference execution, its fingerprint in a finite
// field (field.h), its operation count, its generated kernels and its proofs.
#ifndef LEMMA_GRAPH_EXPR_SCALAR_EXPR_H_
#define LEMMA_GRAPH_EXPR_SCALAR_EXPR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "graph/expr/index_expr.h"

namespace lemma {

// The number of a tensor within one Definition (tensor_expr.h): first the inputs, then the tensors
// that the definition makes.
using TensorId = int32_t;

// Scalar functions, one per row of scalar_functions.inc.
enum class ScalarFn {
#define LEMMA_FN(id, name, arity, traits, real, integer, field, gradient) id,
#define LEMMA_REAL_FN(id, name, arity, traits, real, field, gradient) id,
#define LEMMA_STORED_FN(id, name, traits, dtype) id,
#include "graph/expr/scalar_functions.inc"
};
constexpr int kNumScalarFns = static_cast<int>(ScalarFn::kStoredU2) + 1;

// How a function of one argument changes if the sign of its argument changes.
enum class Symmetry {
  kNone,
  kOdd,   // f(-x) = -f(x)
  kEven,  // f(-x) = f(x)
};

namespace scalar_fn {

// Properties of a function that hold for all arguments.
enum Traits : unsigned {
  kAlgebraic = 1,    // +, -, *, / or negation: has the same meaning in every field
  kCommutative = 2,  // f(a, b) = f(b, a)
  // Never rounds: if the arguments are values of a float type, the result is also a value of this
  // type. For where(a, b, c), this concerns b and c only.
  kExact = 4,
  kOdd = 8,              // f(-x) = -f(x); only for functions of one argument
  kEven = 16,            // f(-x) = f(x); only for functions of one argument
  kTruth = 32,           // the value is 0 or 1
  kStep = 64,            // discontinuous somewhere, like rounding to integers
  kPartial = 128,        // no real value for some arguments, as log(-1); not set for div, mod, fmod
  kKeepsIntegers = 256,  // integer arguments give an integer, exactly
  kCheap = 512,          // about as fast as an addition
  kIntegral = 1024,      // can be computed in int64_t; not written in rows: kTable below sets it
};

// The properties of a function, from its row in scalar_functions.inc.
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
  // Whether rounding the arguments may change the value abruptly. False for `where`, although it is
  // discontinuous in its condition.
  constexpr bool discontinuous() const { return traits & (kTruth | kStep); }
  constexpr Symmetry symmetry() const {
    return traits & kOdd ? Symmetry::kOdd : traits & kEven ? Symmetry::kEven : Symmetry::kNone;
  }
};

// One row per function, by ScalarFn. Call Info() below instead.
inline constexpr Row kTable[kNumScalarFns] = {
#define LEMMA_FN(id, name, arity, traits, real, integer, field, gradient) \
  {#name, arity, (traits) | kIntegral},
#define LEMMA_REAL_FN(id, name, arity, traits, real, field, gradient) {#name, arity, (traits)},
#define LEMMA_STORED_FN(id, name, traits, dtype)                                               \
  {#name, 1,                                                                                   \
   (traits) |                                                                                  \
       (DType::k##dtype >= DType::kI64 && !IsSmallFloat(DType::k##dtype) ? unsigned{kIntegral} \
                                                                         : 0u)},
#include "graph/expr/scalar_functions.inc"
};

}  // namespace scalar_fn

constexpr const scalar_fn::Row& Info(ScalarFn fn) {
  return scalar_fn::kTable[static_cast<int>(fn)];
}

// The scalar function that stores its argument as `dtype` and loads it again, which may round, wrap
// or saturate the argument. Not for opaque types.
constexpr ScalarFn StoredAs(DType dtype) {
  return static_cast<ScalarFn>(static_cast<int>(ScalarFn::kStoredF32) + static_cast<int>(dtype));
}
static_assert(StoredAs(DType::kU64) == ScalarFn::kStoredU64);
static_assert(StoredAs(DType::kU2) == ScalarFn::kStoredU2);
constexpr bool IsStored(ScalarFn fn) { return fn >= ScalarFn::kStoredF32; }

enum class ReduceKind { kSum, kProd, kMax, kMin };
const char* Name(ReduceKind kind);  // "sum", "prod", "max", "min"

// An index variable that runs over 0 <= var < extent.
struct Axis {
  VarId var = -1;
  IndexExpr extent;
};

// Immutable and cheap to copy; copies share the node.
class ScalarExpr {
 public:
  enum class Kind {
    kConst,   // value()
    kParam,   // name(): a real attribute of unknown value, as in a rule
    kIndex,   // index(): an index as a number
    kRead,    // tensor() at indices(); every index must lie inside the tensor
    kApply,   // fn() of args()
    kSelect,  // guard() ? args()[0] : args()[1]; the branch not taken is not evaluated
    kReduce,  // reduce() of args()[0] over axes() where guard() is true; extents may use outer
              // variables and earlier axes; over no elements: sum 0, prod 1, max -inf, min +inf
  };

  ScalarExpr(double value = 0);  // NOLINT: implicit, so that a number stands for a constant
  explicit ScalarExpr(std::shared_ptr<const ScalarNode> node) : node_(std::move(node)) {}
  static ScalarExpr Param(std::string name);
  static ScalarExpr Index(IndexExpr index);
  static ScalarExpr Read(TensorId tensor, Idx indices);
  static ScalarExpr Apply(ScalarFn fn, std::vector<ScalarExpr> args);
  static ScalarExpr Select(Guard guard, ScalarExpr then, ScalarExpr otherwise);
  static ScalarExpr Reduce(ReduceKind kind, std::vector<Axis> axes, Guard where, ScalarExpr body);

  // Except for kind(), each function is only for the kinds that name it above.
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

  // Never nullptr. Its address is for memo tables only, never for ordering.
  const std::shared_ptr<const ScalarNode>& node() const { return node_; }

  // "mul(t0[i0, i1], 2)"; tensor 0 is "t0", variable 1 "i1".
  std::string ToString() const;

 private:
  std::shared_ptr<const ScalarNode> node_;
};

// The content of a ScalarExpr. Apart from `kind`, a field is set only for the kinds that use it.
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

// fn(a), fn(a, b), fn(a, b, c). The number of arguments must be the function's arity.
ScalarExpr Apply(ScalarFn fn, const ScalarExpr& a);
ScalarExpr Apply(ScalarFn fn, const ScalarExpr& a, const ScalarExpr& b);
ScalarExpr Apply(ScalarFn fn, const ScalarExpr& a, const ScalarExpr& b, const ScalarExpr& c);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_SCALAR_EXPR_H_
