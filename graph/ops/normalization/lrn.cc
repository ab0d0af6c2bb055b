#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

// y[n,c,i…] = x[n,c,i…] / (bias + alpha / size * square[n,c,i…])^beta,
// square[n,c,i…] = sum(d < size, c + d - h inside C) x[n, c + d - h, i…]^2, h = (size - 1) div 2.
absl::Status DefineLrn(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireFloat(c));
  LEMMA_REQUIRE(c, c.rank(0) >= 2, "x must be [N,C,spatial...], not of rank ", c.rank(0));
  const IndexExpr& size = c.Size("size");
  LEMMA_REQUIRE(c, Ge(size, 1), "size is ", size.ToString(), ", it must be positive");
  const IndexExpr before = FloorDiv(size - 1, 2);
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
    auto neighbor = [&](const Idx& d) {
      Idx index = i;
      index[1] = i[1] + d[0] - before;
      return index;
    };
    ScalarExpr square = c.Reduce(
        ReduceKind::kSum, {size},
        [&](const Idx& d) {
          ScalarExpr x = c.Read(0, neighbor(d));
          return x * x;
        },
        [&](const Idx& d) { return InRange(neighbor(d)[1], c.Dim(0, 1)); });
    ScalarExpr base = c.Real("bias") + c.Real("alpha") / ScalarExpr::Index(size) * square;
    return c.Read(0, i) / Apply(ScalarFn::kPow, base, c.Real("beta"));
  });
  return absl::OkStatus();
}

// dx = dy / base^beta - 2 alpha beta / size * x * sum(channels whose sums x is in) dy * y / base,
// base = bias + alpha / size * square. The sums are convolutions along the channels with ones.
std::vector<Value> LrnGradient(GradientBuilder& f) {
  const Value &x = f.Input(0), y = f.Output(), &dy = f.ResultGradient();
  const int64_t size = f.node().Int("size"), before = (size - 1) / 2, after = size - 1 - before;
  const double alpha = f.node().Float("alpha") / static_cast<double>(size);
  const double beta = f.node().Float("beta");
  const Value ones = f.Constant(Tensor::Filled({x.dtype(), {1, 1, size, 1}}, 1));
  auto sums = [&](const Value& v, int64_t top, int64_t bottom) {
    const int64_t spatial = x.type().num_elements() / (x.shape()[0] * x.shape()[1]);
    const Value lines = f.Reshape(v, {x.shape()[0], 1, x.shape()[1], spatial});
    const std::vector<int64_t> pads = {top, 0, bottom, 0};
    return f.Reshape(f.Op("conv2d", {lines, ones}, {{"pads", pads}}), x.shape());
  };
  if (x.type().num_elements() == 0) return {Value()};
  const Value base = f.Add(f.Mul(sums(f.Square(x), before, after), alpha), f.node().Float("bias"));
  const Value through = sums(f.Div(f.Mul(dy, y), base), after, before);
  const Value direct = f.Div(dy, f.Op("pow", {base, f.Scalar(x.dtype(), beta)}));
  return {f.Sub(direct, f.Mul(f.Mul(x, through), 2 * alpha * beta))};
}

}  // namespace

OpDef Make_lrn() {
  OpDef op;
  op.name = "lrn";
  op.group = "normalization";
  op.equation =
      "y[n,c,i…] = x[n,c,i…] / (bias + alpha / size * "
      "sum(d < size, c + d - h inside C) x[n, c + d - h, i…]^2)^beta, h = (size - 1) div 2";
  op.doc = "Local response normalization across channels.";
  op.input_names = {"x"};
  op.attrs = {
      {"size", AttrKind::kInt, std::nullopt, true, "number of channels that are summed over"},
      {"alpha", AttrKind::kFloat, 1e-4, true, "scale of the sum"},
      {"beta", AttrKind::kFloat, 0.75, true, "exponent"},
      {"bias", AttrKind::kFloat, 1.0, true, "added to the sum"}};
  op.define = DefineLrn;
  op.gradient = LrnGradient;
  op.examples = {"(f32[1,5,3,4]) {size = 3}",
                 "(f32[2,4,3]) {size = 4, alpha = 0.5, beta = 0.5, bias = 2.0}",
                 "(f32[1,2,2,2]) {size = 5}"};
  AttrNames names = {{"size", "size"}, {"alpha", "alpha"}, {"beta", "beta"}, {"bias", "bias"}};
  op.onnx_import = {ImportAs("LRN", "lrn", names)};
  op.onnx_export = ExportAs("LRN", names);
  return op;
}

}  // namespace lemma::ops
