// Activation functions.
#include <cmath>
#include <limits>

#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/broadcast.h"
#include "graph/ops/checks.h"
#include "graph/ops/elementwise/elementwise.h"
#include "graph/ops/elementwise/elementwise_gradient.h"

namespace lemma::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ScalarExpr Max(const ScalarExpr& a, const ScalarExpr& b) { return Apply(ScalarFn::kMax, a, b); }
ScalarExpr Min(const ScalarExpr& a, const ScalarExpr& b) { return Apply(ScalarFn::kMin, a, b); }
ScalarExpr Exp(const ScalarExpr& x) { return Apply(ScalarFn::kExp, x); }
ScalarExpr Where(const ScalarExpr& test, const ScalarExpr& a, const ScalarExpr& b) {
  return Apply(ScalarFn::kWhere, test, a, b);
}
ScalarExpr Sigmoid(const ScalarExpr& x) { return ScalarExpr(1) / (ScalarExpr(1) + Exp(-x)); }

// ln(1 + e^x) without overflow: takes the larger of 0 and x out of the logarithm.
ScalarExpr Softplus(const ScalarExpr& x) {
  return Max(x, 0) + Apply(ScalarFn::kLog, ScalarExpr(1) + Exp(-Apply(ScalarFn::kAbs, x)));
}

// y[i…] = f(x[i…]) with float attributes that have the same names in ONNX.
OpDef Activation(std::string name, std::string equation, std::string onnx_type,
                 std::vector<AttrSpec> attrs, UnaryBody f) {
  OpDef op = Unary(std::move(name), std::move(equation), "", Accepts::kFloat, std::move(f));
  op.group = "activation";
  AttrNames names;
  for (const AttrSpec& attr : attrs) names.emplace_back(attr.name, attr.name);
  op.attrs = std::move(attrs);
  if (!onnx_type.empty()) NameInOnnx(op, std::move(onnx_type), std::move(names));
  return op;
}

OnnxImporter ByHand(std::string type, std::function<absl::StatusOr<Value>(OnnxImport&)> import) {
  return {std::move(type), [import](OnnxImport& node) -> absl::StatusOr<std::vector<Value>> {
            LEMMA_ASSIGN_OR_RETURN(Value y, import(node));
            return std::vector<Value>{y};
          }};
}

// A scalar of the element type of the exported node.
std::string Scalar(OnnxExport& out, double value) {
  return out.Constant(*Tensor::Filled({out.node().type(0).dtype, {}}, value));
}

// Whether the number stays the same as a real attribute, which holds as many digits as an f32.
bool FitsRealAttribute(const Tensor& number) {
  if (IsFloat(number.dtype()) && number.dtype() != DType::kF64) return true;
  const double value = number.AtDouble(0);
  return static_cast<double>(static_cast<float>(value)) == value &&
         (IsFloat(number.dtype()) || std::abs(value) <= 0x1p24);
}

// Clip's bounds are attributes before operator set 11 and inputs since then; computed bounds become
// max and min.
absl::StatusOr<Value> ImportClip(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  if (node.opset() < 11) {
    LEMMA_ASSIGN_OR_RETURN(double low, node.Float("min", -kInfinity));
    LEMMA_ASSIGN_OR_RETURN(double high, node.Float("max", kInfinity));
    return node.Op("clip", {x}, {{"min", low}, {"max", high}});
  }
  Attrs bounds;
  for (int i : {1, 2}) {
    if (!node.HasInput(i)) continue;
    const char* name = i == 1 ? "min" : "max";
    auto bound = node.OwnConstantInput(i);
    if (bound.ok() && bound->size() == 1 && FitsRealAttribute(*bound)) {
      bounds[name] = bound->AtDouble(0);
    } else {
      LEMMA_ASSIGN_OR_RETURN(Value computed, node.Input(i));
      LEMMA_ASSIGN_OR_RETURN(x, node.Op(i == 1 ? "max" : "min", {x, computed}));
    }
  }
  return bounds.empty() ? x : node.Op("clip", {x}, bounds);
}

// Without a bound, ONNX clips to the least or largest finite number.
absl::Status ExportClip(OnnxExport& out) {
  const double low = out.node().Float("min"), high = out.node().Float("max");
  const bool is_float = IsFloat(out.node().type(0).dtype);
  auto bound = [&](double value) {
    return is_float || std::isfinite(value) ? Scalar(out, value) : std::string();
  };
  out.Emit("Clip", {out.Input(0), bound(low), bound(high)}, {out.Output(0)});
  return absl::OkStatus();
}

// gelu(x) as ONNX's primitives: 0.5 x (1 + inner).
void EmitHalfOfOnePlus(OnnxExport& out, const std::string& inner) {
  std::string sum = out.Temporary(), product = out.Temporary();
  out.Emit("Add", {inner, Scalar(out, 1)}, {sum});
  out.Emit("Mul", {out.Input(0), sum}, {product});
  out.Emit("Mul", {product, Scalar(out, 0.5)}, {out.Output(0)});
}

}  // namespace

OpDef Make_relu() {
  OpDef op = Unary("relu", "y = max(x, 0)", "Relu", Accepts::kNumber,
                   [](const OpContext&, const ScalarExpr& x) { return Max(x, 0); });
  op.group = "activation";
  op.onnx_export = [relu = op.onnx_export](OnnxExport& out) -> absl::Status {
    if (!IsUnsigned(out.node().type(0).dtype)) return relu(out);
    out.Emit("Identity", {out.Input(0)}, {out.Output(0)}, {});
    return absl::OkStatus();
  };
  return op;
}

OpDef Make_leaky_relu() {
  return Activation("leaky_relu", "y = x if x >= 0, alpha*x if x < 0", "LeakyRelu",
                    {Real("alpha", 0.01, "slope of the negative side")},
                    [](const OpContext& c, const ScalarExpr& x) {
                      return Where(Less(x, 0), c.Real("alpha") * x, x);
                    });
}

OpDef Make_prelu() {
  OpDef op;
  op.name = "prelu";
  op.group = "activation";
  op.equation = "y = x if x >= 0, slope*x if x < 0";
  op.doc = "slope broadcasts to the shape of x.";
  op.input_names = {"x", "slope"};
  op.min_inputs = op.max_inputs = 2;
  op.define = [](OpContext& c) -> absl::Status {
    LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
    LEMMA_REQUIRE(c, c.rank(1) <= c.rank(0), "slope has a higher rank than x");
    for (int i = 1; i <= c.rank(1); ++i) {
      const IndexExpr& size = c.Dim(1, c.rank(1) - i);
      if (Repeats(size)) continue;
      LEMMA_REQUIRE(c, Eq(size, c.Dim(0, c.rank(0) - i)), "slope does not broadcast to x");
    }
    c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
      ScalarExpr x = c.Read(0, i);
      return Where(Less(x, 0), c.Read(1, BroadcastIndex(c.dims(1), i)) * x, x);
    });
    return absl::OkStatus();
  };
  op.examples = {"(f32[2,3], f32[3])", "(f32[2,3,2], f32[3,1])", "(f32[4], f32[])",
                 "(f32[2,2], f32[2,2])"};
  op.gradient = ElementwiseGradient;
  NameInOnnx(op, "PRelu", {});
  return op;
}

OpDef Make_sigmoid() {
  OpDef op = Activation("sigmoid", "y = 1 / (1 + exp(-x))", "Sigmoid", {},
                        [](const OpContext&, const ScalarExpr& x) { return Sigmoid(x); });
  // dx = dy * y * (1 - y)
  op.gradient = StatedGradient([](GradientBuilder& f, auto&, auto& y, auto& dy) {
    return f.Mul(f.Mul(dy, y), f.Sub(f.Scalar(y.dtype(), 1), y));
  });
  return op;
}

OpDef Make_silu() {
  OpDef op = Activation("silu", "y = x / (1 + exp(-x))", "", {},
                        [](const OpContext&, const ScalarExpr& x) { return x * Sigmoid(x); });
  op.doc = "Also called swish.";
  // dx = dy * (s + y * (1 - s)), s = sigmoid(x)
  op.gradient = StatedGradient([](GradientBuilder& f, auto& x, auto& y, auto& dy) {
    const Value s = f.Op("sigmoid", {x});
    return f.Mul(dy, f.Add(s, f.Mul(y, f.Sub(f.Scalar(x.dtype(), 1), s))));
  });
  op.onnx_export = [](OnnxExport& out) {
    std::string gate = out.Temporary();
    out.Emit("Sigmoid", {out.Input(0)}, {gate});
    out.Emit("Mul", {out.Input(0), gate}, {out.Output(0)});
    return absl::OkStatus();
  };
  return op;
}

OpDef Make_mish() {
  OpDef op = Activation("mish", "y = x * tanh(ln(1 + exp(x)))", "", {},
                        [](const OpContext&, const ScalarExpr& x) {
                          return x * Apply(ScalarFn::kTanh, Softplus(x));
                        });
  // dx = dy * (t + x * s * (1 - t²)), t = tanh(softplus(x)), s = sigmoid(x)
  op.gradient = StatedGradient([](GradientBuilder& f, auto& x, auto&, auto& dy) {
    const Value t = f.Op("tanh", {f.Op("softplus", {x})}), s = f.Op("sigmoid", {x});
    const Value slope = f.Sub(f.Scalar(x.dtype(), 1), f.Square(t));
    return f.Mul(dy, f.Add(t, f.Mul(f.Mul(x, s), slope)));
  });
  op.onnx_import = {ImportAs("Mish", "mish")};
  op.onnx_export = ForFloats("Softplus", [](OnnxExport& out) {
    std::string x = out.Input(0), softplus = out.Temporary(), gate = out.Temporary();
    out.Emit("Softplus", {x}, {softplus});
    out.Emit("Tanh", {softplus}, {gate});
    out.Emit("Mul", {x, gate}, {out.Output(0)});
    return absl::OkStatus();
  });
  return op;
}

OpDef Make_gelu() {
  OpDef op = Activation(
      "gelu", "y = x/2 * (1 + erf(x / √2))", "", {}, [](const OpContext&, const ScalarExpr& x) {
        return ScalarExpr(0.5) * x *
               (ScalarExpr(1) + Apply(ScalarFn::kErf, x * ScalarExpr(std::sqrt(0.5))));
      });
  op.onnx_export = [](OnnxExport& out) {
    std::string scaled = out.Temporary(), erf = out.Temporary();
    out.Emit("Mul", {out.Input(0), Scalar(out, std::sqrt(0.5))}, {scaled});
    out.Emit("Erf", {scaled}, {erf});
    EmitHalfOfOnePlus(out, erf);
    return absl::OkStatus();
  };
  return op;
}

OpDef Make_gelu_tanh() {
  const double scale = std::sqrt(8 * std::atan(1.0)) / (4 * std::atan(1.0));  // √(2/π)
  OpDef op =
      Activation("gelu_tanh", "y = x/2 * (1 + tanh(√(2/π) * (x + 0.044715 x³)))", "", {},
                 [scale](const OpContext&, const ScalarExpr& x) {
                   ScalarExpr inner = ScalarExpr(scale) * (x + ScalarExpr(0.044715) * x * x * x);
                   return ScalarExpr(0.5) * x * (ScalarExpr(1) + Apply(ScalarFn::kTanh, inner));
                 });
  op.doc = "The approximation of gelu by tanh.";
  op.onnx_export = [scale](OnnxExport& out) {
    std::string x = out.Input(0), square = out.Temporary(), cube = out.Temporary(),
                scaled = out.Temporary(), sum = out.Temporary(), inner = out.Temporary(),
                tanh = out.Temporary();
    out.Emit("Mul", {x, x}, {square});
    out.Emit("Mul", {square, x}, {cube});
    out.Emit("Mul", {cube, Scalar(out, 0.044715)}, {scaled});
    out.Emit("Add", {x, scaled}, {sum});
    out.Emit("Mul", {sum, Scalar(out, scale)}, {inner});
    out.Emit("Tanh", {inner}, {tanh});
    EmitHalfOfOnePlus(out, tanh);
    return absl::OkStatus();
  };
  return op;
}

OpDef Make_softplus() {
  OpDef op = Activation("softplus", "y = ln(1 + exp(x))", "Softplus", {},
                        [](const OpContext&, const ScalarExpr& x) { return Softplus(x); });
  op.doc = "Computed as max(x, 0) + ln(1 + exp(-|x|)), which does not overflow.";
  // dx = dy * sigmoid(x)
  op.gradient = StatedGradient(
      [](GradientBuilder& f, auto& x, auto&, auto& dy) { return f.Mul(dy, f.Op("sigmoid", {x})); });
  return op;
}

OpDef Make_softsign() {
  OpDef op = Activation("softsign", "y = x / (1 + |x|)", "Softsign", {},
                        [](const OpContext&, const ScalarExpr& x) {
                          return x / (ScalarExpr(1) + Apply(ScalarFn::kAbs, x));
                        });
  // dx = dy / (1 + |x|)²
  op.gradient = StatedGradient([](GradientBuilder& f, auto& x, auto&, auto& dy) {
    return f.Div(dy, f.Square(f.Add(f.Op("abs", {x}), 1)));
  });
  return op;
}

OpDef Make_elu() {
  return Activation("elu", "y = x if x >= 0, alpha*(exp(x) - 1) if x < 0", "Elu",
                    {Real("alpha", 1.0, "scale of the negative side")},
                    [](const OpContext& c, const ScalarExpr& x) {
                      return Where(Less(x, 0), c.Real("alpha") * (Exp(x) - 1), x);
                    });
}

OpDef Make_selu() {
  return Activation("selu", "y = gamma*x if x > 0, gamma*alpha*(exp(x) - 1) if x <= 0", "Selu",
                    {Real("alpha", 1.67326319217681884765625, "scale of the negative side"),
                     Real("gamma", 1.05070102214813232421875, "scale of both sides")},
                    [](const OpContext& c, const ScalarExpr& x) {
                      return c.Real("gamma") * Where(Less(0, x), x, c.Real("alpha") * (Exp(x) - 1));
                    });
}

OpDef Make_celu() {
  OpDef op = Activation("celu", "y = max(0, x) + min(0, alpha*(exp(x/alpha) - 1))", "Celu",
                        {Real("alpha", 1.0, "scale of the negative side")},
                        [](const OpContext& c, const ScalarExpr& x) {
                          const ScalarExpr& alpha = c.Real("alpha");
                          return Max(0, x) + Min(0, alpha * (Exp(x / alpha) - 1));
                        });
  // dx = dy if x >= 0, dy * exp(x/alpha) if x < 0; at 0 the two maxima would both give 0
  op.gradient = StatedGradient([](GradientBuilder& f, auto& x, auto&, auto& dy) {
    const Value negative = f.Op("less", {x, f.Scalar(x.dtype(), 0)});
    const Value scaled = f.Div(x, f.Scalar(x.dtype(), f.node().Float("alpha")));
    return f.Where(negative, f.Mul(dy, f.Op("exp", {scaled})), dy);
  });
  return op;
}

OpDef Make_thresholded_relu() {
  return Activation("thresholded_relu", "y = x if x > alpha, otherwise 0", "ThresholdedRelu",
                    {Real("alpha", 1.0, "threshold")}, [](const OpContext& c, const ScalarExpr& x) {
                      return Where(Less(c.Real("alpha"), x), x, 0);
                    });
}

OpDef Make_hard_sigmoid() {
  return Activation("hard_sigmoid", "y = max(0, min(1, alpha*x + beta))", "HardSigmoid",
                    {Real("alpha", 0.2, "slope"), Real("beta", 0.5, "value at 0")},
                    [](const OpContext& c, const ScalarExpr& x) {
                      return Max(0, Min(1, c.Real("alpha") * x + c.Real("beta")));
                    });
}

OpDef Make_hard_swish() {
  return Activation("hard_swish", "y = x * min(max(x + 3, 0), 6) / 6", "HardSwish", {},
                    [](const OpContext&, const ScalarExpr& x) {
                      return x * (Min(Max(x + ScalarExpr(3), 0), ScalarExpr(6)) / ScalarExpr(6));
                    });
}

OpDef Make_shrink() {
  OpDef op =
      Activation("shrink", "y = x + bias if x < -lambda, x - bias if x > lambda, otherwise 0", "",
                 {Real("bias", 0.0, "how far the elements that do not become 0 move towards 0"),
                  Real("lambda", 0.5, "largest magnitude of an element that becomes 0")},
                 [](const OpContext& c, const ScalarExpr& x) {
                   const ScalarExpr &bias = c.Real("bias"), &lambda = c.Real("lambda");
                   return Where(Less(x, -lambda), x + bias, Where(Less(lambda, x), x - bias, 0));
                 });
  NameInOnnx(op, "Shrink", {{"bias", "bias"}, {"lambda", "lambd"}});
  return op;
}

OpDef Make_clip() {
  OpDef op;
  op.name = "clip";
  op.group = "activation";
  op.equation = "y = min(max(x, min), max)";
  op.doc = "min = -inf and max = inf have no effect.";
  op.input_names = {"x"};
  op.attrs = {Real("min", -kInfinity, "lower bound"), Real("max", kInfinity, "upper bound")};
  op.define = [](OpContext& c) -> absl::Status {
    LEMMA_RETURN_IF_ERROR(RequireDType(c, 0, Accepts::kNumber));
    auto is = [](const ScalarExpr& e, double v) {
      return e.kind() == ScalarExpr::Kind::kConst && e.value() == v;
    };
    c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
      const ScalarExpr &low = c.Real("min"), &high = c.Real("max");
      ScalarExpr x = c.Read(0, i);
      if (!is(low, -kInfinity)) x = Max(x, low);
      if (!is(high, kInfinity)) x = Min(x, high);
      return x;
    });
    return absl::OkStatus();
  };
  op.examples = {"(f32[2,3]) {min = 0.0, max = 6.0}", "(f32[]) {min = -1.0}",
                 "(i64[4]) {max = 0.0}", "(f32[2])"};
  op.gradient = ElementwiseGradient;
  op.onnx_import = {ByHand("Clip", ImportClip)};
  op.onnx_export = ExportClip;
  return op;
}

}  // namespace lemma::ops
