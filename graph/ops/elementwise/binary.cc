// Functions of two elements, and the selection between two.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/broadcast.h"
#include "graph/ops/checks.h"
#include "graph/ops/elementwise/elementwise.h"
#include "graph/ops/elementwise/elementwise_gradient.h"

namespace lemma::ops {
namespace {

const char kBroadcast[] = "Shapes broadcast as in numpy.";
const char kIntegers[] =
    "Shapes broadcast as in numpy. Integers: exact as long as the result fits into 64 bits; a "
    "narrower type stores it by wrapping.";

OpDef Documented(OpDef op, std::string doc, bool commutative) {
  op.doc = std::move(doc);
  op.commutative = commutative;
  return op;
}

// Not the same as `not b < a`: with NaN every comparison is false.
ScalarExpr LessOrEqual(const ScalarExpr& a, const ScalarExpr& b) {
  return Apply(ScalarFn::kOr, Less(a, b), Apply(ScalarFn::kEqual, a, b));
}

OpDef Comparison(OpDef op, bool commutative = false) {
  op.group = "comparison and logic";
  return Documented(std::move(op), "False where an operand is NaN. Shapes broadcast as in numpy.",
                    commutative);
}

OpDef Logic(OpDef op) {
  op.group = "comparison and logic";
  op.gradient = nullptr;
  return Documented(std::move(op), kBroadcast, true);
}

// ONNX's Pow allows an exponent of any type and returns the base's type; Lemma computes in one
// type.
absl::StatusOr<std::vector<Value>> ImportPow(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value base, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value exponent, node.Input(1));
  const DType result = base.dtype();
  // For an integer base and a float exponent, the power is a float, truncated to an integer at the
  // end.
  const DType common = IsFloat(result) || !IsFloat(exponent.dtype()) ? result : exponent.dtype();
  LEMMA_ASSIGN_OR_RETURN(base, Cast(node, base, common));
  LEMMA_ASSIGN_OR_RETURN(exponent, Cast(node, exponent, common));
  LEMMA_ASSIGN_OR_RETURN(Value y, node.Op("pow", {base, exponent}));
  LEMMA_ASSIGN_OR_RETURN(y, Cast(node, y, result));
  return std::vector<Value>{y};
}

absl::StatusOr<std::vector<Value>> ImportMean(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value sum, Chain(node, "add"));
  LEMMA_ASSIGN_OR_RETURN(Value mean,
                         node.Op("scalar_mul", {sum}, {{"alpha", 1.0 / node.num_inputs()}}));
  return std::vector<Value>{mean};
}

absl::StatusOr<std::vector<Value>> ImportMod(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(int64_t fmod, node.Int("fmod", 0));
  LEMMA_ASSIGN_OR_RETURN(Value a, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value b, node.Input(1));
  return node.Ops(fmod != 0 ? "fmod" : "mod", {a, b});
}

// For floats, ONNX's Mod only has the dividend's sign, so b is added where that differs from the
// divisor's sign. a - b * floor(a / b) would lose digits, and be NaN where b is infinite.
absl::Status ExportMod(OnnxExport& out) {
  const std::string a = out.Input(0), b = out.Input(1);
  const DType dtype = out.node().type(0).dtype;
  if (IsInteger(dtype)) {
    out.Emit("Mod", {a, b}, {out.Output(0)}, {{"fmod", int64_t{0}}});
    return absl::OkStatus();
  }
  const std::string zero = out.Constant(*Tensor::Filled({dtype, {}}, 0));
  auto emit = [&](const char* op, std::vector<std::string> operands) {
    std::string result = out.Temporary();
    out.Emit(op, std::move(operands), {result});
    return result;
  };
  const std::string rest = out.Temporary();
  out.Emit("Mod", {a, b}, {rest}, {{"fmod", int64_t{1}}});
  const std::string signs = emit("Xor", {emit("Less", {rest, zero}), emit("Less", {b, zero})});
  const std::string moves = emit("And", {signs, emit("Not", {emit("Equal", {rest, zero})})});
  out.Emit("Where", {moves, emit("Add", {rest, b}), rest}, {out.Output(0)});
  return absl::OkStatus();
}

// Operator set 17 has no BitwiseAnd, so the bits are taken apart along a new last axis:
// y = sum(k < K) (a[k] * b[k]) 2^k, a[k] = (a - a mod 2^k) / 2^k mod 2. K is the number of bits
// without the sign; the sign bit is set where both operands are negative. Bits are summed in
// chunks, since ONNX Runtime sums integers in floating point, which is exact for small sums only.
absl::Status ExportBitwiseAnd(OnnxExport& out) {
  constexpr int64_t kChunk = 21;
  const DType dtype = out.node().type(0).dtype;
  // A signed type that ONNX can sum, with the type's bits.
  const bool is_wide = SizeOf(dtype) == 8 || dtype == DType::kU32;
  const DType wide = is_wide ? DType::kI64 : DType::kI32;
  const int64_t bits = wide == DType::kI64 ? 63 : 31;
  LEMMA_ASSIGN_OR_RETURN(const Tensor minimum,
                         Tensor::FromInts({wide, {}}, {-(int64_t{1} << (bits - 1)) * 2}));
  LEMMA_ASSIGN_OR_RETURN(const Tensor last, Tensor::FromInts({DType::kI64, {1}}, {-1}));
  // Counted from the front: ONNX Runtime takes an axis from the end for another one if a size is 0.
  LEMMA_ASSIGN_OR_RETURN(const Tensor sum_axis,
                         Tensor::FromInts({DType::kI64, {1}}, {out.node().type(0).rank()}));
  const std::string axis = out.Constant(last), bit_axis = out.Constant(sum_axis),
                    zero = out.Constant(*Tensor::Filled({wide, {}}, 0)),
                    two = out.Constant(*Tensor::Filled({wide, {}}, 2));
  auto emit = [&](const char* op, std::vector<std::string> operands,
                  std::vector<std::pair<std::string, OnnxAttr>> attrs = {}) {
    std::string result = out.Temporary();
    out.Emit(op, std::move(operands), {result}, std::move(attrs));
    return result;
  };
  std::string column[2], negative[2];
  for (int i = 0; i < 2; ++i) {
    std::string x = out.Input(i);
    if (wide != dtype) x = emit("Cast", {x}, {{"to", ToOnnxNumber(wide)}});
    negative[i] = emit("Less", {x, zero});
    column[i] = emit("Unsqueeze", {x, axis});
  }
  std::string result =
      emit("Where", {emit("And", {negative[0], negative[1]}), out.Constant(minimum), zero});
  for (int64_t first = 0; first < bits; first += kChunk) {
    std::vector<int64_t> values, weights;
    for (int64_t k = first; k < std::min(first + kChunk, bits); ++k) {
      values.push_back(int64_t{1} << k);
      weights.push_back(int64_t{1} << (k - first));
    }
    const int64_t count = static_cast<int64_t>(values.size());
    LEMMA_ASSIGN_OR_RETURN(const Tensor two_to_k, Tensor::FromInts({wide, {count}}, values));
    LEMMA_ASSIGN_OR_RETURN(const Tensor in_chunk, Tensor::FromInts({wide, {count}}, weights));
    LEMMA_ASSIGN_OR_RETURN(const Tensor unit, Tensor::FromInts({wide, {}}, {int64_t{1} << first}));
    const std::string powers = out.Constant(two_to_k);
    std::string bits_of[2];
    for (int i = 0; i < 2; ++i) {
      const std::string whole = emit("Sub", {column[i], emit("Mod", {column[i], powers})});
      bits_of[i] = emit("Mod", {emit("Div", {whole, powers}), two});
    }
    const std::string terms =
        emit("Mul", {emit("Mul", {bits_of[0], bits_of[1]}), out.Constant(in_chunk)});
    const std::string sum = emit("ReduceSum", {terms, bit_axis}, {{"keepdims", int64_t{0}}});
    result = emit("Add", {result, emit("Mul", {sum, out.Constant(unit)})});
  }
  if (wide == dtype) {
    out.Emit("Identity", {result}, {out.Output(0)});
  } else {
    out.Emit("Cast", {result}, {out.Output(0)}, {{"to", ToOnnxNumber(dtype)}});
  }
  return absl::OkStatus();
}

}  // namespace

OpDef Make_add() {
  OpDef op = Documented(Binary("add", "y = a + b", "Add", Accepts::kNumber, ByFn2(ScalarFn::kAdd)),
                        kIntegers, true);
  op.onnx_import.push_back(ImportChain("Sum", "add"));
  op.onnx_import.push_back({"Mean", ImportMean});
  return op;
}

OpDef Make_sub() {
  return Documented(Binary("sub", "y = a - b", "Sub", Accepts::kNumber, ByFn2(ScalarFn::kSub)),
                    kIntegers, false);
}

OpDef Make_mul() {
  return Documented(Binary("mul", "y = a * b", "Mul", Accepts::kNumber, ByFn2(ScalarFn::kMul)),
                    kIntegers, true);
}

OpDef Make_div() {
  OpDef op = Binary("div", "y = a / b", "Div", Accepts::kNumber,
                    [](const OpContext& c, const ScalarExpr& a, const ScalarExpr& b) {
                      return IsInteger(c.dtype(0)) ? Apply(ScalarFn::kTrunc, a / b) : a / b;
                    });
  return Documented(std::move(op),
                    "Shapes broadcast as in numpy. Integers: the quotient is cut off towards 0; "
                    "a division by 0 gives 0.",
                    false);
}

OpDef Make_pow() {
  OpDef op = Binary("pow", "y = a ^ b", "", Accepts::kNumber, ByFn2(ScalarFn::kPow));
  op.onnx_import = {{"Pow", ImportPow}};
  op.onnx_export =
      ExportFor({DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32, DType::kI64},
                ExportAs("Pow"));
  return Documented(std::move(op), kBroadcast, false);
}

OpDef Make_mod() {
  OpDef op = Binary("mod", "y = a - b * floor(a / b)", "", Accepts::kNumber, ByFn2(ScalarFn::kMod));
  op.onnx_import = {{"Mod", ImportMod}};
  op.onnx_export = ExportMod;
  return Documented(std::move(op), "The result has the sign of b. Shapes broadcast as in numpy.",
                    false);
}

OpDef Make_fmod() {
  OpDef op =
      Binary("fmod", "y = a - b * trunc(a / b)", "", Accepts::kNumber, ByFn2(ScalarFn::kFmod));
  op.onnx_export = [](OnnxExport& out) {
    out.Emit("Mod", {out.Input(0), out.Input(1)}, {out.Output(0)}, {{"fmod", int64_t{1}}});
    return absl::OkStatus();
  };
  return Documented(std::move(op), "The result has the sign of a. Shapes broadcast as in numpy.",
                    false);
}

OpDef Make_min() {
  OpDef op = Binary("min", "y = min(a, b)", "Min", Accepts::kNumber, ByFn2(ScalarFn::kMin));
  op.onnx_import = {ImportChain("Min", "min")};
  return Documented(std::move(op), "NaN where an operand is NaN. Shapes broadcast as in numpy.",
                    true);
}

OpDef Make_max() {
  OpDef op = Binary("max", "y = max(a, b)", "Max", Accepts::kNumber, ByFn2(ScalarFn::kMax));
  op.onnx_import = {ImportChain("Max", "max")};
  return Documented(std::move(op), "NaN where an operand is NaN. Shapes broadcast as in numpy.",
                    true);
}

OpDef Make_less() {
  return Comparison(
      BinaryTest("less", "y = a < b", "Less", Accepts::kNumber, ByFn2(ScalarFn::kLess)));
}

OpDef Make_less_equal() {
  return Comparison(BinaryTest("less_equal", "y = a <= b", "LessOrEqual", Accepts::kNumber,
                               [](const OpContext&, const ScalarExpr& a, const ScalarExpr& b) {
                                 return LessOrEqual(a, b);
                               }));
}

OpDef Make_greater() {
  return Comparison(BinaryTest(
      "greater", "y = a > b", "Greater", Accepts::kNumber,
      [](const OpContext&, const ScalarExpr& a, const ScalarExpr& b) { return Less(b, a); }));
}

OpDef Make_greater_equal() {
  return Comparison(BinaryTest("greater_equal", "y = a >= b", "GreaterOrEqual", Accepts::kNumber,
                               [](const OpContext&, const ScalarExpr& a, const ScalarExpr& b) {
                                 return LessOrEqual(b, a);
                               }));
}

OpDef Make_equal() {
  return Comparison(
      BinaryTest("equal", "y = (a = b)", "Equal", Accepts::kAny, ByFn2(ScalarFn::kEqual)), true);
}

OpDef Make_and() {
  return Logic(Binary("and", "y = a and b", "And", Accepts::kBool, ByFn2(ScalarFn::kAnd)));
}

OpDef Make_or() {
  return Logic(Binary("or", "y = a or b", "Or", Accepts::kBool, ByFn2(ScalarFn::kOr)));
}

OpDef Make_xor() {
  return Logic(Binary("xor", "y = a or b, but not both", "Xor", Accepts::kBool,
                      [](const OpContext&, const ScalarExpr& a, const ScalarExpr& b) {
                        return Apply(ScalarFn::kNot, Apply(ScalarFn::kEqual, a, b));
                      }));
}

OpDef Make_bitwise_and() {
  OpDef op = Binary("bitwise_and", "y = a and b, bit by bit", "", Accepts::kNumber,
                    ByFn2(ScalarFn::kBitAnd));
  op.define = [define = op.define](OpContext& c) -> absl::Status {
    LEMMA_REQUIRE(c, IsInteger(c.dtype(0)), "the element type must be an integer, not ",
                  Name(c.dtype(0)));
    return define(c);
  };
  op.gradient = nullptr;
  op.examples = {"(i64[2,3], i64[2,3])", "(i32[2,3], i32[3])", "(i8[2,1], i8[4,1,3])",
                 "(u8[], u8[3])", "(i64[1], i64[0])"};
  op.onnx_import = {ImportAs("BitwiseAnd", "bitwise_and")};
  op.onnx_export = ExportBitwiseAnd;
  return Documented(std::move(op), "Integers in two's complement. Shapes broadcast as in numpy.",
                    true);
}

OpDef Make_where() {
  OpDef op;
  op.name = "where";
  op.group = "comparison and logic";
  op.equation = "y = a if condition, otherwise b";
  op.doc = kBroadcast;
  op.input_names = {"condition", "a", "b"};
  op.min_inputs = op.max_inputs = 3;
  op.define = [](OpContext& c) -> absl::Status {
    LEMMA_RETURN_IF_ERROR(RequireDType(c, 0, Accepts::kBool));
    LEMMA_REQUIRE(c, c.dtype(1) == c.dtype(2), "a and b must have one element type, not ",
                  Name(c.dtype(1)), " and ", Name(c.dtype(2)), "; cast one of them");
    LEMMA_ASSIGN_OR_RETURN(Idx dims, BroadcastDims(c));
    c.Output(c.dtype(1), dims, [&](const Idx& i) {
      auto read = [&](int input) { return c.Read(input, BroadcastIndex(c.dims(input), i)); };
      return Apply(ScalarFn::kWhere, read(0), read(1), read(2));
    });
    return absl::OkStatus();
  };
  op.examples = {"(bool[2,3], f32[2,3], f32[2,3])", "(bool[2,1], f32[], f32[3])",
                 "(bool[], i64[2], i64[1])", "(bool[4], bool[4], bool[4])"};
  op.gradient = ElementwiseGradient;
  NameInOnnx(op, "Where", {});
  return op;
}

OpDef Make_scalar_mul() {
  OpDef op = Unary("scalar_mul", "y = alpha * x", "", Accepts::kNumber,
                   [](const OpContext& c, const ScalarExpr& x) { return c.Real("alpha") * x; });
  op.doc = "On integers alpha must be an integer.";
  op.attrs = {Real("alpha", std::nullopt, "factor")};
  op.examples = {"(f32[2,3]) {alpha = 0.5}", "(f32[]) {alpha = -1.0}", "(i64[3]) {alpha = 3.0}"};
  op.onnx_export = [](OnnxExport& out) -> absl::Status {
    LEMMA_ASSIGN_OR_RETURN(
        Tensor alpha, Tensor::Filled({out.node().type(0).dtype, {}}, out.node().Float("alpha")));
    const double factor = out.node().Float("alpha"), held = alpha.AtDouble(0);
    if (held != factor && !(std::abs(held - factor) <= 0x1p-8 * std::abs(factor)) &&
        !std::isnan(factor)) {
      return absl::UnimplementedError(
          absl::StrCat("alpha = ", factor, " is another number as ", Name(alpha.dtype())));
    }
    out.Emit("Mul", {out.Input(0), out.Constant(std::move(alpha))}, {out.Output(0)});
    return absl::OkStatus();
  };
  return op;
}

}  // namespace lemma::ops
