// Operators on bits, as arithmetic on the integers that the bits mean in two's complement.
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx/composites/dtype.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

Value Integer(OnnxImport& node, OnnxBuild& b, DType dtype, int64_t value) {
  auto tensor = b.Take(Tensor::FromInts({dtype, {}}, {value}));
  return b.status().ok() ? node.Constant(std::move(tensor)) : Value();
}

absl::Status RequireIntegers(const Value& x) {
  if (IsInteger(x.dtype())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("operands must be integers, not ", Name(x.dtype())));
}

// not x = -1 - x; -1, which is the largest number if there is no sign, has all bits set.
Values ImportNot(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(const Value x, node.Input(0));
  LEMMA_RETURN_IF_ERROR(RequireIntegers(x));
  OnnxBuild b(node);
  const Value none = Integer(node, b, x.dtype(), 0);
  const Value all = b.Sub(none, Integer(node, b, x.dtype(), 1));
  const Value y = b.Sub(all, x);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// With c = x and y: x or y = x + (y - c), x xor y = (x - c) + (y - c). The terms of each sum have
// no bit in common, so nothing overflows.
Values ImportOr(OnnxImport& node, bool exclusive) {
  LEMMA_ASSIGN_OR_RETURN(const Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(const Value y, node.Input(1));
  LEMMA_RETURN_IF_ERROR(RequireIntegers(x));
  OnnxBuild b(node);
  const Value common = b.Op("bitwise_and", {x, y});
  const Value z = b.Add(exclusive ? b.Sub(x, common) : x, b.Sub(y, common));
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{z};
}

// A product or a quotient with a power of two. A shift by all bits or more leaves 0.
Values ImportShift(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(const Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(const Value shift, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(const std::string direction, node.String("direction"));
  LEMMA_RETURN_IF_ERROR(RequireIntegers(x));
  if (direction != "LEFT" && direction != "RIGHT") {
    return absl::InvalidArgumentError(absl::StrCat("direction is ", direction));
  }
  if (Name(x.dtype())[0] != 'u') return node.Unsupported("signed integers");
  const int64_t bits = BitsOf(x.dtype());
  OnnxBuild b(node);
  const Value amount = b.Cast(shift, DType::kI64);
  const Value last = Integer(node, b, DType::kI64, bits - 1);
  const Value power = b.Cast(
      b.Op("pow", {Integer(node, b, DType::kI64, 2), b.Op("min", {amount, last})}), x.dtype());
  const Value moved = direction == "LEFT" ? b.Mul(x, power) : b.Div(x, power);
  const Value y =
      b.Op("where", {b.Op("less_equal", {amount, last}), moved, Integer(node, b, x.dtype(), 0)});
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// A binary format: sign, exponent, fraction.
struct Format {
  int bits, fraction;
  int64_t exponents() const { return int64_t{1} << (bits - 1 - fraction); }
  int bias() const { return static_cast<int>(exponents() / 2) - 1; }
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {64, 52};
    case DType::kF32:
      return {32, 23};
    case DType::kF16:
      return {16, 10};
    default:
      return {16, 7};
  }
}

// A table over the biased exponents e: 2^(e - bias - less), where subnormal numbers have the
// exponent of the smallest normal ones.
Value Powers(OnnxImport& node, OnnxBuild& b, const Format& f, int less) {
  std::vector<double> values;
  for (int64_t e = 0; e < f.exponents(); ++e) {
    values.push_back(std::ldexp(1.0, static_cast<int>(std::max<int64_t>(e, 1)) - f.bias() - less));
  }
  auto table = b.Take(Tensor::FromDoubles({DType::kF64, {f.exponents()}}, values));
  return b.status().ok() ? node.Constant(std::move(table)) : Value();
}

Value At(OnnxBuild& b, const Value& table, const Value& index) {
  return b.Op("gather", {table, index}, {{"axis", int64_t{0}}});
}

// The bits of floats, as numbers in i64. All NaN give one pattern.
Value ToBits(OnnxImport& node, OnnxBuild& b, const Value& x) {
  const Format f = FormatOf(x.dtype());
  const Value number = b.Cast(x, DType::kF64);
  const Value zero = b.Scalar(DType::kF64, 0), size = b.Op("abs", {number});
  const Value nan = b.Op("is_nan", {number});
  // The sign of 0 shows in its reciprocal.
  const Value negative =
      b.Op("or", {b.Op("less", {number, zero}),
                  b.Op("and", {b.Op("equal", {number, zero}),
                               b.Op("less", {b.Op("reciprocal", {number}), zero})})});
  // The largest e with 2^(e - bias) <= size, bit by bit; 0 if there is none.
  const Value least = Powers(node, b, f, 0);
  const Value none = Integer(node, b, DType::kI64, 0);
  Value e = none;
  for (int64_t step = f.exponents() / 2; step > 0; step /= 2) {
    const Value next = b.Add(e, static_cast<double>(step));
    const Value reaches = b.Op("greater_equal", {size, At(b, least, next)});
    e = b.Op("where", {reaches, next, e});
  }
  const Value infinite = Integer(node, b, DType::kI64, f.exponents() - 1);
  const Value is_inf = b.Op("is_inf", {number});
  const Value whole = b.Div(size, At(b, Powers(node, b, f, f.fraction), e));
  const double one = std::ldexp(1.0, f.fraction);
  Value fraction =
      b.Sub(whole, b.Op("where", {b.Op("less", {none, e}), b.Scalar(DType::kF64, one), zero}));
  fraction = b.Op("where", {is_inf, zero, fraction});
  fraction = b.Op("where", {nan, b.Scalar(DType::kF64, one / 2), fraction});
  e = b.Op("where", {b.Op("or", {nan, is_inf}), infinite, e});
  const Value unit = Integer(node, b, DType::kI64, int64_t{1} << f.fraction);
  const Value low = b.Add(b.Mul(e, unit), b.Cast(fraction, DType::kI64));
  const Value sign =
      Integer(node, b, DType::kI64,
              f.bits == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (f.bits - 1)));
  return b.Add(low, b.Op("where", {negative, sign, none}));
}

// The floats of these bits, which are numbers in i64 of any sign.
Value FromBits(OnnxImport& node, OnnxBuild& b, const Value& bits, DType dtype) {
  const Format f = FormatOf(dtype);
  auto integer = [&](int64_t v) { return Integer(node, b, DType::kI64, v); };
  const Value none = integer(0), unit = integer(int64_t{1} << f.fraction);
  const int64_t all =
      f.bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (f.bits - 1)) - 1;
  const Value low = b.Op("bitwise_and", {bits, integer(all)});
  const Value negative = f.bits == 64
                             ? b.Op("less", {bits, none})
                             : b.Op("less", {none, b.Op("bitwise_and", {bits, integer(all + 1)})});
  const Value e = b.Div(low, unit);
  const Value fraction = b.Sub(low, b.Mul(e, unit));
  const Value whole = b.Add(fraction, b.Op("where", {b.Op("less", {none, e}), unit, none}));
  Value size = b.Mul(b.Cast(whole, DType::kF64), At(b, Powers(node, b, f, f.fraction), e));
  const double inf = std::numeric_limits<double>::infinity();
  const Value special = b.Op("where", {b.Op("equal", {fraction, none}), b.Scalar(DType::kF64, inf),
                                       b.Scalar(DType::kF64, std::nan(""))});
  size = b.Op("where", {b.Op("equal", {e, integer(f.exponents() - 1)}), special, size});
  return b.Cast(b.Op("where", {negative, b.Op("neg", {size}), size}), dtype);
}

// The same bytes as another element type of the same size. For floats computed by arithmetic: exact
// except for which NaN.
Values ImportBitCast(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(const Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(const int64_t number, node.Int("to"));
  LEMMA_ASSIGN_OR_RETURN(const DType to, FromOnnxNumber(node, number));
  const DType from = x.dtype();
  if (BitsOf(from) != BitsOf(to)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Name(from), " and ", Name(to), " have different sizes"));
  }
  if (from == to) return std::vector<Value>{x};
  if (x.node().kind() == Node::Kind::kConstant && to != DType::kBool && BitsOf(to) >= 8) {
    LEMMA_ASSIGN_OR_RETURN(const Tensor values, node.ConstantInput(0));
    LEMMA_ASSIGN_OR_RETURN(Tensor same, Tensor::Allocate({to, values.shape()}));
    if (values.size() > 0) {
      std::memcpy(same.mutable_raw(), values.raw(), static_cast<size_t>(values.type().num_bytes()));
    }
    return std::vector<Value>{node.Constant(std::move(same))};
  }
  for (DType dtype : {from, to}) {
    if (IsSmallFloat(dtype)) return node.Unsupported(absl::StrCat("bits of ", Name(dtype)));
  }
  OnnxBuild b(node);
  Value y = x;
  if (IsFloat(from)) y = ToBits(node, b, y);
  y = IsFloat(to) ? FromBits(node, b, b.Cast(y, DType::kI64), to) : b.Cast(y, to);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace

std::vector<OnnxImporter> BitComposites() {
  return {{"BitwiseNot", ImportNot},
          {"BitwiseOr", [](OnnxImport& node) { return ImportOr(node, false); }},
          {"BitwiseXor", [](OnnxImport& node) { return ImportOr(node, true); }},
          {"BitShift", ImportShift},
          {"BitCast", ImportBitCast}};
}

}  // namespace lemma::ops
