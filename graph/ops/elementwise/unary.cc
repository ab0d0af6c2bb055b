// Functions of one element, without attributes.
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/ops/elementwise/elementwise.h"
#include "graph/ops/elementwise/elementwise_gradient.h"

namespace lemma::ops {

#define LEMMA_UNARY_FN(name, onnx, accepts, fn)                                          \
  OpDef Make_##name() {                                                                  \
    return Unary(#name, "y = " #name "(x)", onnx, Accepts::accepts, ByFn(ScalarFn::fn)); \
  }

LEMMA_UNARY_FN(tanh, "Tanh", kFloat, kTanh)
LEMMA_UNARY_FN(erf, "Erf", kFloat, kErf)
LEMMA_UNARY_FN(exp, "Exp", kFloat, kExp)
LEMMA_UNARY_FN(sin, "Sin", kFloat, kSin)
LEMMA_UNARY_FN(cos, "Cos", kFloat, kCos)
LEMMA_UNARY_FN(tan, "Tan", kFloat, kTan)
LEMMA_UNARY_FN(asin, "Asin", kFloat, kAsin)
LEMMA_UNARY_FN(acos, "Acos", kFloat, kAcos)
LEMMA_UNARY_FN(atan, "Atan", kFloat, kAtan)
LEMMA_UNARY_FN(sinh, "Sinh", kFloat, kSinh)
LEMMA_UNARY_FN(cosh, "Cosh", kFloat, kCosh)
LEMMA_UNARY_FN(asinh, "Asinh", kFloat, kAsinh)
LEMMA_UNARY_FN(acosh, "Acosh", kFloat, kAcosh)
LEMMA_UNARY_FN(atanh, "Atanh", kFloat, kAtanh)
LEMMA_UNARY_FN(floor, "Floor", kFloat, kFloor)
LEMMA_UNARY_FN(ceil, "Ceil", kFloat, kCeil)
#undef LEMMA_UNARY_FN

OpDef Make_log() { return Unary("log", "y = ln(x)", "Log", Accepts::kFloat, ByFn(ScalarFn::kLog)); }

OpDef Make_sqrt() {
  return Unary("sqrt", "y = √x", "Sqrt", Accepts::kFloat, ByFn(ScalarFn::kSqrt));
}

OpDef Make_rsqrt() {
  OpDef op =
      Unary("rsqrt", "y = 1 / √x", "", Accepts::kFloat, [](const OpContext&, const ScalarExpr& x) {
        return ScalarExpr(1) / Apply(ScalarFn::kSqrt, x);
      });
  op.onnx_export = [](OnnxExport& out) {
    std::string root = out.Temporary();
    out.Emit("Sqrt", {out.Input(0)}, {root});
    out.Emit("Reciprocal", {root}, {out.Output(0)});
    return absl::OkStatus();
  };
  // dx = -dy / 2 * y / x
  op.gradient = StatedGradient([](GradientBuilder& f, auto& x, auto& y, auto& dy) {
    return f.Mul(f.Mul(dy, -0.5), f.Div(y, x));
  });
  return op;
}

OpDef Make_reciprocal() {
  OpDef op = Unary("reciprocal", "y = 1 / x", "Reciprocal", Accepts::kFloat,
                   [](const OpContext&, const ScalarExpr& x) { return ScalarExpr(1) / x; });
  // dx = -dy * y²
  op.gradient = StatedGradient(
      [](GradientBuilder& f, auto&, auto& y, auto& dy) { return f.Neg(f.Mul(dy, f.Square(y))); });
  return op;
}

OpDef Make_neg() {
  OpDef op = Unary("neg", "y = -x", "Neg", Accepts::kNumber, ByFn(ScalarFn::kNeg));
  op.onnx_export = [negate = op.onnx_export](OnnxExport& out) -> absl::Status {
    const DType dtype = out.node().type(0).dtype;
    if (!IsUnsigned(dtype)) return negate(out);
    const std::string zero = out.Constant(*Tensor::Filled({dtype, {}}, 0));
    out.Emit("Sub", {zero, out.Input(0)}, {out.Output(0)}, {});
    return absl::OkStatus();
  };
  return op;
}

OpDef Make_abs() { return Unary("abs", "y = |x|", "Abs", Accepts::kNumber, ByFn(ScalarFn::kAbs)); }

OpDef Make_sign() {
  return Unary("sign", "y = -1, 0 or 1 as x < 0, x = 0 or x > 0", "Sign", Accepts::kNumber,
               ByFn(ScalarFn::kSign));
}

OpDef Make_round() {
  OpDef op = Unary("round", "y = the integer nearest to x", "Round", Accepts::kFloat,
                   ByFn(ScalarFn::kRound));
  op.doc = "Halfway cases go to the even neighbor.";
  return op;
}

OpDef Make_round_tf32() {
  OpDef op = Unary("round_tf32", "y = the TF32 number nearest to x", "lemma.RoundTf32",
                   Accepts::kFloat, ByFn(ScalarFn::kRoundTf32));
  op.doc =
      "TF32 numbers have 11 bits of significand and the range of f32. Halfway cases go away from "
      "0. From 2^128 - 2^116 on, the result is infinite; below 2^-126, it is a multiple of 2^-136. "
      "Tensor cores multiply numbers of this form. In ONNX, a call of the function RoundTf32 of "
      "the domain lemma, whose body the model contains.";
  op.define = [define = op.define](OpContext& c) {
    LEMMA_REQUIRE(c, c.dtype(0) == DType::kF32, "element type must be f32, not ", Name(c.dtype(0)),
                  "; cast it");
    return define(c);
  };
  // dx = dy, as for a cast
  op.gradient = StatedGradient([](GradientBuilder&, auto&, auto&, auto& dy) { return dy; });
  return op;
}

OpDef Make_is_nan() {
  return UnaryTest("is_nan", "y = x is not a number", "IsNaN", Accepts::kFloat,
                   ByFn(ScalarFn::kIsNan));
}

OpDef Make_is_inf() {
  OpDef op = UnaryTest(
      "is_inf", "y = (x = -inf and detect_negative) or (x = +inf and detect_positive)", "",
      Accepts::kFloat, [](const OpContext& c, const ScalarExpr& x) {
        bool negative = c.Int("detect_negative") != 0, positive = c.Int("detect_positive") != 0;
        ScalarExpr infinite = Apply(ScalarFn::kIsInf, x);
        if (negative && positive) return infinite;
        if (!negative && !positive) return ScalarExpr(0);
        ScalarExpr of_sign = positive ? Apply(ScalarFn::kLess, 0, x) : Apply(ScalarFn::kLess, x, 0);
        return Apply(ScalarFn::kAnd, infinite, of_sign);
      });
  op.attrs = {{"detect_negative", AttrKind::kInt, int64_t{1}, false, "0: -inf does not count"},
              {"detect_positive", AttrKind::kInt, int64_t{1}, false, "0: +inf does not count"}};
  op.examples.push_back("(f32[3]) {detect_negative = 0}");
  op.examples.push_back("(f32[3]) {detect_positive = 0}");
  NameInOnnx(op, "IsInf",
             {{"detect_negative", "detect_negative"}, {"detect_positive", "detect_positive"}});
  // ONNX's operator takes no narrow floats.
  op.onnx_export = [as_onnx = op.onnx_export](OnnxExport& out) {
    const Node& node = out.node();
    if (SizeOf(node.inputs()[0].dtype()) > 2) return as_onnx(out);
    const std::string wide = out.Temporary();
    out.Emit("Cast", {out.Input(0)}, {wide}, {{"to", ToOnnxNumber(DType::kF32)}});
    out.Emit("IsInf", {wide}, {out.Output(0)},
             {{"detect_negative", node.Int("detect_negative")},
              {"detect_positive", node.Int("detect_positive")}});
    return absl::OkStatus();
  };
  return op;
}

OpDef Make_not() {
  OpDef op = Unary("not", "y = not x", "Not", Accepts::kBool, ByFn(ScalarFn::kNot));
  op.gradient = nullptr;
  return op;
}

}  // namespace lemma::ops
