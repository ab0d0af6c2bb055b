// Evaluates expressions.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/lanes/lane_ops.h"
#include "verifier/kernels/machine.h"

namespace lemma::kernels {

using Kind = Expr::Kind;
using Op = Expr::Op;

bool Fits(Type type, int64_t value) {
  switch (type) {
    case Type::kInt:
      return value >= std::numeric_limits<int32_t>::min() &&
             value <= std::numeric_limits<int32_t>::max();
    case Type::kUnsigned:
      return value >= 0 && value <= std::numeric_limits<uint32_t>::max();
    default:
      return true;
  }
}

namespace {

int64_t FloorOf(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b < 0 ? q - 1 : q;
}

// The result of an operator; *wrong is set if C++ leaves it undefined or wraps it.
int64_t ResultOf(Op op, int64_t a, int64_t b, bool* wrong) {
  int64_t result = 0;
  switch (op) {
    case Op::kAdd:
      *wrong |= __builtin_add_overflow(a, b, &result);
      return result;
    case Op::kSub:
      *wrong |= __builtin_sub_overflow(a, b, &result);
      return result;
    case Op::kMul:
      *wrong |= __builtin_mul_overflow(a, b, &result);
      return result;
    case Op::kXor:
      return a ^ b;
    case Op::kLess:
      return a < b ? 1 : 0;
    case Op::kLessEqual:
      return a <= b ? 1 : 0;
    case Op::kEqual:
      return a == b ? 1 : 0;
    case Op::kLeast:
      return std::min(a, b);
    case Op::kGreatest:
      return std::max(a, b);
    case Op::kDiv:
    case Op::kRem:
      if (b == 0 || b == -1) {
        *wrong |= b == 0;
        return b == 0 || op == Op::kRem || a == std::numeric_limits<int64_t>::min() ? 0 : -a;
      }
      return op == Op::kDiv ? a / b : a % b;
    case Op::kFloorDiv:
      *wrong |= b <= 0;
      return b > 0 ? FloorOf(a, b) : 0;
    case Op::kFloorDivOr0:
      return b > 0 ? FloorOf(a, b) : 0;
    case Op::kModOr0:
      return b > 0 ? a - b * FloorOf(a, b) : 0;
  }
  return 0;
}

}  // namespace

Machine::Operand Machine::Evaluate(const Expr& e, const Mask& mask) {
  if (stopped()) return {Scratch(e), e.uniform};
  switch (e.kind) {
    case Kind::kLiteral: {
      int64_t* out = Scratch(e);
      *out = e.value;
      if (IsReal(e.type)) {
        Field value = Field::FromDouble(e.real);
        if (e.special == Expr::Special::kNaN) value = Field::NaN();
        if (e.special == Expr::Special::kNoScore) value = Field::NegativeInfinity();
        if (e.special == Expr::Special::kInfinity) {
          value = e.real < 0 ? Field::NegativeInfinity() : Field::Infinity();
          if (extremes_) value = Field(e.real < 0 ? extremes_->max : extremes_->min) + Field(1);
        }
        *out = static_cast<int64_t>(value.raw());
      }
      return {out, true};
    }
    case Kind::kBlock:
      *Scratch(e) = block_;
      return {Scratch(e), true};
    case Kind::kThread:
      return {thread_numbers_.data(), false};
    case Kind::kVariable: {
      const Variable& v = kernel_.variables[e.variable];
      if (v.uniform) return {Registers(e.variable), true};
      if (v.dims.empty()) {
        static constexpr int64_t kFirst = 0;
        CheckSet(v, {&kFirst, true}, mask);
        return {Registers(e.variable), false};
      }
      return LoadCell(e, mask);
    }
    case Kind::kBinary:
    case Kind::kCompare:
      return Binary(e, mask);
    case Kind::kNegate:
    case Kind::kNot: {
      const Operand a = Evaluate(*e.args[0], mask);
      int64_t* out = Scratch(e);
      for (int i = 0; i < (e.uniform ? 1 : threads_); ++i) {
        const int64_t x = a.At(i);
        out[i] = e.kind == Kind::kNot ? (x == 0 ? 1 : 0)
                                      : static_cast<int64_t>(-static_cast<uint64_t>(x));
        // The least number of a type has no negative.
        const bool wrong =
            e.kind == Kind::kNegate && x != 0 && (out[i] == x || !Fits(e.type, out[i]));
        if (wrong && (e.uniform || mask.on[i] != 0)) Fault("an integer overflows", i);
      }
      return {out, e.uniform};
    }
    case Kind::kAnd:
    case Kind::kOr:
      return Logical(e, mask);
    case Kind::kChoose:
      return Choose(e, mask);
    case Kind::kConvert:
      return Convert(e, mask);
    case Kind::kFunction:
      return Function(e, mask);
    case Kind::kRead:
      return Load(e, mask);
    case Kind::kElementOf:
      return ElementOf(e, mask);
    case Kind::kWarpReduce:
      return WarpReduce(e, mask);
    case Kind::kBlockReduce:
      return BlockReduce(e, mask);
  }
  return {};
}

int64_t Machine::EvaluateUniform(const Expr& e, const Mask& mask) {
  if (e.kind == Kind::kVariable) return *Registers(e.variable);
  if (e.kind == Kind::kLiteral) return e.value;
  const Operand value = Evaluate(e, mask);
  return stopped() ? 0 : *value.data;
}

namespace {

// The function of the lanes that computes an operator of integers, unless it overflows 64 bits.
std::optional<ScalarFn> FunctionOf(Op op) {
  switch (op) {
    case Op::kAdd:
      return ScalarFn::kAdd;
    case Op::kSub:
      return ScalarFn::kSub;
    case Op::kMul:
      return ScalarFn::kMul;
    case Op::kDiv:
      return ScalarFn::kDiv;
    case Op::kRem:
      return ScalarFn::kMod;  // for numbers that are not negative
    case Op::kLess:
    case Op::kLessEqual:
      return ScalarFn::kLess;
    case Op::kEqual:
      return ScalarFn::kEqual;
    default:
      return std::nullopt;
  }
}

// out[i] = fn(a[i], b[i]); same_a, same_b: a[0], b[0] for all threads.
void Apply(ScalarFn fn, int64_t* out, const int64_t* a, bool same_a, const int64_t* b, bool same_b,
           int n) {
  const LaneOps<int64_t>& ops = Lanes<int64_t>();
  const int f = static_cast<int>(fn);
  if (same_a && same_b) {
    ops.vv[f](out, a, b, 1);
    std::fill_n(out + 1, n - 1, *out);
  } else {
    (same_a ? ops.sv : same_b ? ops.vs : ops.vv)[f](out, a, b, n);
  }
}

// The operator on 32-bit integers, for all threads at once; false unless the results are those of
// C++, without an overflow. Threads that do not run may hold anything.
bool Quick(Op op, Type type, int64_t* out, const int64_t* a, bool same_a, const int64_t* b,
           bool same_b, int n) {
  constexpr int64_t kEnd = int64_t{1} << 32;
  const LaneOps<int64_t>& ops = Lanes<int64_t>();
  const std::optional<ScalarFn> fn = FunctionOf(op);
  if (!fn) return false;
  if (op == Op::kDiv || op == Op::kRem) {
    if (same_a || !same_b || *b <= 0 || *b >= kEnd / 2) return false;
    if (!ops.within(a, 0, kEnd - 1, n)) return false;
    Apply(*fn, out, a, false, b, true, n);
    return true;
  }
  Apply(*fn, out, a, same_a, b, same_b, n);
  return type == Type::kInt ? ops.within(out, -kEnd / 2, kEnd / 2 - 1, n)
                            : ops.within(out, 0, kEnd - 1, n);
}

// Comparisons: of any integers.
void Compare(Op op, int64_t* out, const int64_t* a, bool same_a, const int64_t* b, bool same_b,
             int n) {
  if (op != Op::kLessEqual) return Apply(*FunctionOf(op), out, a, same_a, b, same_b, n);
  Apply(ScalarFn::kLess, out, b, same_b, a, same_a, n);
  for (int i = 0; i < n; ++i) out[i] ^= 1;
}

}  // namespace

Machine::Operand Machine::Binary(const Expr& e, const Mask& mask) {
  const Operand a = Evaluate(*e.args[0], mask), b = Evaluate(*e.args[1], mask);
  int64_t* out = Scratch(e);
  const int n = e.uniform ? 1 : threads_;
  const Type operands = e.args[0]->type;
  // Two integers of type unsigned may have a product beyond 63 bits.
  const bool small = operands == Type::kInt || (operands == Type::kUnsigned && e.op != Op::kMul);
  if (n > 1 && e.kind == Kind::kCompare) {
    Compare(e.op, out, a.data, a.uniform, b.data, b.uniform, n);
    return {out, e.uniform};
  }
  if (n > 1 && small && Quick(e.op, e.type, out, a.data, a.uniform, b.data, b.uniform, n)) {
    return {out, e.uniform};
  }
  for (int i = 0; i < n; ++i) {
    bool wrong = false;
    out[i] = ResultOf(e.op, a.At(i), b.At(i), &wrong);
    if (!wrong && Fits(e.type, out[i])) continue;
    if (e.uniform || mask.on[i] != 0) {
      Fault(absl::StrCat("an integer leaves its type: the operator on ", a.At(i), " and ", b.At(i),
                         " as ", NameOf(e.type)),
            i);
    }
    out[i] = 0;
  }
  return {out, e.uniform};
}

Machine::Operand Machine::Logical(const Expr& e, const Mask& mask) {
  const bool conjunction = e.kind == Kind::kAnd;
  const Operand a = Evaluate(*e.args[0], mask);
  int64_t* out = Scratch(e);
  const int n = e.uniform ? 1 : threads_;
  for (int i = 0; i < n; ++i) out[i] = a.At(i);
  if (stopped()) return {out, e.uniform};
  if (a.uniform && (a.data[0] != 0) != conjunction) return {out, e.uniform};
  const Mask rest = a.uniform ? mask : Where(mask, a, conjunction);
  if (rest.count == 0) return {out, e.uniform};
  const Operand b = Evaluate(*e.args[1], rest);
  for (int i = 0; i < n; ++i) {
    if ((out[i] != 0) == conjunction) out[i] = b.At(i);
  }
  return {out, e.uniform};
}

Machine::Operand Machine::Choose(const Expr& e, const Mask& mask) {
  const Operand condition = Evaluate(*e.args[0], mask);
  if (stopped()) return {Scratch(e), e.uniform};
  int64_t* out = Scratch(e);
  for (const bool holds : {true, false}) {
    const Mask part = condition.uniform ? ((condition.data[0] != 0) == holds ? mask : Mask{{}, 0})
                                        : Where(mask, condition, holds);
    if (part.count == 0) continue;
    const Operand value = Evaluate(*e.args[holds ? 1 : 2], part);
    for (int i = 0; i < (e.uniform ? 1 : threads_); ++i) {
      if (e.uniform || part.on[i] != 0) out[i] = value.At(i);
    }
  }
  return {out, e.uniform};
}

Machine::Operand Machine::Convert(const Expr& e, const Mask& mask) {
  const Operand a = Evaluate(*e.args[0], mask);
  int64_t* out = Scratch(e);
  if (!e.uniform && !a.uniform && IsIndex(e.type)) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    // A range that all types have.
    if (Lanes<int64_t>().within(a.data, 0, kMost, threads_)) {
      std::copy_n(a.data, threads_, out);
      return {out, false};
    }
  }
  for (int i = 0; i < (e.uniform ? 1 : threads_); ++i) {
    const int64_t x = a.At(i);
    out[i] = IsReal(e.type) ? static_cast<int64_t>(Field(x).raw()) : x;
    if (Fits(e.type, x) || !(e.uniform || mask.on[i] != 0)) continue;
    Fault(absl::StrCat(x, " becomes ", NameOf(e.type)), i);
  }
  return {out, e.uniform};
}

Machine::Operand Machine::Extreme(const Expr& e, Operand a, Operand b) {
  int64_t* out = Scratch(e);
  for (int i = 0; i < (e.uniform ? 1 : threads_); ++i) {
    const auto x = Field::FromRaw(static_cast<uint64_t>(a.At(i)));
    const auto y = Field::FromRaw(static_cast<uint64_t>(b.At(i)));
    out[i] = static_cast<int64_t>(extremes_->Apply(e.fn, x, y).raw());
  }
  return {out, e.uniform};
}

namespace {

template <class T>
void ApplyLanes(ScalarFn fn, int64_t* out, const int64_t* const* args, const bool* uniform,
                size_t arity, int64_t n) {
  const LaneOps<T>& ops = Lanes<T>();
  const int f = static_cast<int>(fn);
  T* to = reinterpret_cast<T*>(out);
  auto at = [&](size_t i) { return reinterpret_cast<const T*>(args[i]); };
  if (arity == 1) {
    ops.unary[f](to, at(0), n);
  } else if (arity == 2) {
    const auto apply = n > 1 && uniform[0]   ? ops.sv[f]
                       : n > 1 && uniform[1] ? ops.vs[f]
                                             : ops.vv[f];
    apply(to, at(0), at(1), n);
  } else {
    ops.where(to, at(0), at(1), uniform[1] ? 0 : 1, at(2), uniform[2] ? 0 : 1, n);
  }
}

}  // namespace

Machine::Operand Machine::Function(const Expr& e, const Mask& mask) {
  const size_t arity = e.args.size();
  const int64_t* args[3] = {};
  bool uniform[3] = {};
  for (size_t i = 0; i < arity; ++i) {
    const Operand arg = Evaluate(*e.args[i], mask);
    args[i] = arg.data;
    uniform[i] = arg.uniform;
  }
  if (stopped()) return {Scratch(e), e.uniform};
  const int64_t n = e.uniform ? 1 : threads_;
  Spend(n);
  const bool extreme = e.fn == ScalarFn::kMax || e.fn == ScalarFn::kMin;
  if (extreme && extremes_ && IsReal(e.type)) {
    return Extreme(e, {args[0], uniform[0]}, {args[1], uniform[1]});
  }
  int64_t* out = Scratch(e);
  // The tables need a vector if there is one.
  std::vector<int64_t> spread;
  if (n > 1 && uniform[0] && (arity == 3 || (arity == 2 && uniform[1]))) {
    spread.assign(n, args[0][0]);
    args[0] = spread.data();
    uniform[0] = false;
  }
  if (IsReal(e.type)) {
    ApplyLanes<Field>(e.fn, out, args, uniform, arity, n);
  } else {
    ApplyLanes<int64_t>(e.fn, out, args, uniform, arity, n);
  }
  return {out, e.uniform};
}

}  // namespace lemma::kernels
