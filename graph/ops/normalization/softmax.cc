// Functions along one axis: softmax, its logarithm, hardmax, and positions of extremes.
#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/ops/elementwise/elementwise_gradient.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// The axis that an operator works along, and access to lines along it.
struct Line {
  int axis;
  IndexExpr size;
  Idx others;  // the other dimensions

  Idx Without(const Idx& index) const {
    Idx rest = index;
    rest.erase(rest.begin() + axis);
    return rest;
  }
  Idx At(const Idx& rest, const IndexExpr& k) const {
    Idx index = rest;
    index.insert(index.begin() + axis, k);
    return index;
  }
};

absl::StatusOr<Line> ReadLine(OpContext& c) {
  Line line;
  LEMMA_ASSIGN_OR_RETURN(line.axis, c.NormalizeAxis(c.Int("axis"), c.rank(0)));
  line.size = c.Dim(0, line.axis);
  line.others = line.Without(c.dims(0));
  LEMMA_REQUIRE(c, Ge(line.size, 1), "axis ", line.axis, " is empty");
  return line;
}

TensorId Extreme(OpContext& c, const Line& line, ReduceKind kind) {
  return c.Local(c.dtype(0), line.others, [&](const Idx& rest) {
    return c.Reduce(kind, {line.size},
                    [&](const Idx& k) { return c.Read(0, line.At(rest, k[0])); });
  });
}

// y[i,k] = exp(x[i,k] - m[i]) / sum(l < K) exp(x[i,l] - m[i]), m[i] = max(l < K) x[i,l].
absl::Status DefineSoftmax(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireFloat(c));
  LEMMA_ASSIGN_OR_RETURN(Line line, ReadLine(c));
  TensorId max = Extreme(c, line, ReduceKind::kMax);
  TensorId power = c.Local(c.dtype(0), c.dims(0), [&](const Idx& i) {
    return Apply(ScalarFn::kExp, c.Read(0, i) - c.Read(max, line.Without(i)));
  });
  TensorId total = c.Local(c.dtype(0), line.others, [&](const Idx& rest) {
    return c.Sum({line.size}, [&](const Idx& k) { return c.Read(power, line.At(rest, k[0])); });
  });
  c.Output(c.dtype(0), c.dims(0),
           [&](const Idx& i) { return c.Read(power, i) / c.Read(total, line.Without(i)); });
  return absl::OkStatus();
}

// y[i,k] = x[i,k] - m[i] - log(sum(l < K) exp(x[i,l] - m[i])), m[i] = max(l < K) x[i,l].
absl::Status DefineLogSoftmax(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireFloat(c));
  LEMMA_ASSIGN_OR_RETURN(Line line, ReadLine(c));
  TensorId max = Extreme(c, line, ReduceKind::kMax);
  TensorId log_total = c.Local(c.dtype(0), line.others, [&](const Idx& rest) {
    ScalarExpr m = c.Read(max, rest);
    return Apply(ScalarFn::kLog, c.Sum({line.size}, [&](const Idx& k) {
      return Apply(ScalarFn::kExp, c.Read(0, line.At(rest, k[0])) - m);
    }));
  });
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
    Idx rest = line.Without(i);
    return c.Read(0, i) - c.Read(max, rest) - c.Read(log_total, rest);
  });
  return absl::OkStatus();
}

// The first or last k with x[i,k] = extreme[i]. NaN, which is the extreme of a line that contains
// it, equals nothing.
ScalarExpr Position(OpContext& c, const Line& line, TensorId extreme, const Idx& rest, bool last) {
  return c.Reduce(last ? ReduceKind::kMax : ReduceKind::kMin, {line.size}, [&](const Idx& k) {
    const ScalarExpr x = c.Read(0, line.At(rest, k[0]));
    ScalarExpr attains = Apply(ScalarFn::kEqual, x, c.Read(extreme, rest));
    if (IsFloat(c.dtype(0))) attains = Apply(ScalarFn::kOr, attains, Apply(ScalarFn::kIsNan, x));
    return Apply(ScalarFn::kWhere, attains, ScalarExpr::Index(k[0]),
                 last ? ScalarExpr(-1) : ScalarExpr::Index(line.size));
  });
}

// y[i,k] = 1 for the first k with x[i,k] = max(l < K) x[i,l], else 0.
absl::Status DefineHardmax(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireFloat(c));
  LEMMA_ASSIGN_OR_RETURN(Line line, ReadLine(c));
  TensorId max = Extreme(c, line, ReduceKind::kMax);
  TensorId first = c.Local(DType::kI64, line.others,
                           [&](const Idx& rest) { return Position(c, line, max, rest, false); });
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
    return Apply(ScalarFn::kEqual, ScalarExpr::Index(i[line.axis]), c.Read(first, line.Without(i)));
  });
  return absl::OkStatus();
}

// dx[i,k] = y[i,k] * (dy[i,k] - sum(l < K) dy[i,l] * y[i,l]).
std::vector<Value> SoftmaxGradient(GradientBuilder& f) {
  const Value y = f.Output(), &dy = f.ResultGradient();
  const Value along_y = f.Sum(f.Mul(dy, y), {f.node().Int("axis")}, /*keepdims=*/true);
  return {f.Mul(y, f.Sub(dy, along_y))};
}

// dx[i,k] = dy[i,k] - exp(y[i,k]) * sum(l < K) dy[i,l].
std::vector<Value> LogSoftmaxGradient(GradientBuilder& f) {
  const Value& dy = f.ResultGradient();
  const Value sum = f.Sum(dy, {f.node().Int("axis")}, /*keepdims=*/true);
  return {f.Sub(dy, f.Mul(f.Op("exp", {f.Output()}), sum))};
}

// Operator set 12 and before: all axes from `axis` on count as one.
absl::StatusOr<std::vector<Value>> ImportSoftmax(OnnxImport& node, const std::string& op) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  const bool flattens = node.opset() < 13;
  const int rank = x.type().rank();
  // The default of a vector is its only axis: lines of one element would give only ones.
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", flattens && rank > 1 ? 1 : -1));
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, rank));
  Shape shape = x.shape(), lines = shape;
  if (flattens) {
    lines = {ProductOf(Shape(shape.begin(), shape.begin() + axis)),
             ProductOf(Shape(shape.begin() + axis, shape.end()))};
    if (axis == rank - 1) {
      lines = shape;
    } else {
      axis = 1;
    }
  }
  LEMMA_ASSIGN_OR_RETURN(Value flat, Reshape(node, x, lines));
  LEMMA_ASSIGN_OR_RETURN(Value y, node.Op(op, {flat}, {{"axis", axis}}));
  LEMMA_ASSIGN_OR_RETURN(y, Reshape(node, y, shape));
  return std::vector<Value>{y};
}

OpDef AlongAxis(std::string name, std::string onnx, std::string equation) {
  OpDef op;
  op.name = name;
  op.group = "normalization";
  op.equation = std::move(equation);
  op.input_names = {"x"};
  op.attrs = {{"axis", AttrKind::kInt, int64_t{-1}, false,
               "the axis k; a negative one counts from the end"}};
  op.examples = {"(f32[3,5])", "(f32[2,3,4]) {axis = 1}", "(f32[4,1,3]) {axis = 0}",
                 "(f32[2,1]) {axis = 1}", "(f32[6])"};
  op.onnx_import = {{onnx, [name](OnnxImport& node) { return ImportSoftmax(node, name); }}};
  op.onnx_export = ExportAs(onnx, {{"axis", "axis"}});
  return op;
}

// y[i] = the k for which x[i,k] is the extreme.
OpDef ArgExtreme(std::string name, std::string onnx, ReduceKind kind, std::string extreme) {
  OpDef op;
  op.name = name;
  op.group = "reduction";
  op.equation = "y[i] = min(k < K, x[i,k] = " + extreme + "(l < K) x[i,l]) k";
  op.doc = "The first such k, or the last with select_last. NaN counts as the " + extreme +
           "imum, as in numpy.";
  op.input_names = {"x"};
  op.attrs = {
      {"axis", AttrKind::kInt, int64_t{0}, false, "the axis k; a negative one counts from the end"},
      {"keepdims", AttrKind::kInt, int64_t{0}, false,
       "1: the axis stays, with size 1; 0: it vanishes"},
      {"select_last", AttrKind::kInt, int64_t{0}, false, "1: the last k instead"}};
  op.define = [kind](OpContext& c) -> absl::Status {
    LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
    LEMMA_ASSIGN_OR_RETURN(Line line, ReadLine(c));
    TensorId best = Extreme(c, line, kind);
    const bool keep = c.Int("keepdims") != 0, last = c.Int("select_last") != 0;
    c.Output(DType::kI64, keep ? line.At(line.others, 1) : line.others, [&](const Idx& out) {
      return Position(c, line, best, keep ? line.Without(out) : out, last);
    });
    return absl::OkStatus();
  };
  op.examples = {"(f32[3,5])", "(f32[2,3,4]) {axis = 1, keepdims = 1}",
                 "(f32[2,4]) {axis = -1, select_last = 1}", "(i64[4,3]) {axis = 1}"};
  op.onnx_import = {
      {onnx, [name](OnnxImport& node) -> absl::StatusOr<std::vector<Value>> {
         LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
         Attrs attrs;
         LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 0));
         LEMMA_ASSIGN_OR_RETURN(attrs["axis"], NormalizeOnnxAxis(axis, x.type().rank()));
         LEMMA_ASSIGN_OR_RETURN(attrs["keepdims"], node.Int("keepdims", 1));
         LEMMA_ASSIGN_OR_RETURN(attrs["select_last"], node.Int("select_last_index", 0));
         return node.Ops(name, {x}, attrs);
       }}};
  op.onnx_export = ExportAs(
      onnx, {{"axis", "axis"}, {"keepdims", "keepdims"}, {"select_last", "select_last_index"}});
  return op;
}

}  // namespace

OpDef Make_softmax() {
  OpDef op = AlongAxis("softmax", "Softmax",
                       "y[i,k] = exp(x[i,k] - m[i]) / sum(l < K) exp(x[i,l] - m[i]), "
                       "m[i] = max(l < K) x[i,l]");
  op.doc = "The maximum is subtracted so that no exponential overflows.";
  op.define = DefineSoftmax;
  op.gradient = SoftmaxGradient;
  return op;
}

OpDef Make_log_softmax() {
  OpDef op = AlongAxis("log_softmax", "LogSoftmax",
                       "y[i,k] = x[i,k] - m[i] - log(sum(l < K) exp(x[i,l] - m[i])), "
                       "m[i] = max(l < K) x[i,l]");
  op.doc = "The maximum is subtracted so that no exponential overflows.";
  op.define = DefineLogSoftmax;
  op.gradient = LogSoftmaxGradient;
  for (const OnnxImporter& importer : LossComposites()) op.onnx_import.push_back(importer);
  return op;
}

OpDef Make_hardmax() {
  OpDef op = AlongAxis("hardmax", "Hardmax",
                       "y[i,k] = 1 for the first k with x[i,k] = max(l < K) x[i,l], else 0");
  op.doc = "If some x[i,l] is NaN, NaN is the maximum.";
  op.define = DefineHardmax;
  op.gradient = ZeroGradient;
  return op;
}

OpDef Make_argmax() { return ArgExtreme("argmax", "ArgMax", ReduceKind::kMax, "max"); }
OpDef Make_argmin() { return ArgExtreme("argmin", "ArgMin", ReduceKind::kMin, "min"); }

}  // namespace lemma::ops
