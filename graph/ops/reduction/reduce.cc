// Reductions over any set of axes.
#include <algorithm>

#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

// The reduced axes of an input, and how indices of the output and of the reduction form its index.
struct Axes {
  std::vector<bool> reduced;
  Idx extents;  // of the reduced axes, in order
  Idx kept;     // dimensions of the result
  bool keepdims;

  Idx Join(const Idx& out, const Idx& r) const {
    Idx index;
    size_t next_out = 0, next_r = 0;
    for (bool is_reduced : reduced) {
      if (is_reduced && keepdims) ++next_out;
      index.push_back(is_reduced ? r[next_r++] : out[next_out++]);
    }
    return index;
  }
};

absl::StatusOr<Axes> ReadAxes(OpContext& c, bool may_be_empty) {
  Axes axes;
  const int rank = c.rank(0);
  axes.keepdims = c.Int("keepdims") != 0;
  axes.reduced.resize(rank);
  LEMMA_REQUIRE(c, !c.Ints("axes").empty(), "axes must name at least one axis");
  for (int64_t a : c.Ints("axes")) {
    LEMMA_ASSIGN_OR_RETURN(int axis, c.NormalizeAxis(a, rank));
    LEMMA_REQUIRE(c, !axes.reduced[axis], "axis ", axis, " is named twice");
    axes.reduced[axis] = true;
  }
  for (int i = 0; i < rank; ++i) {
    if (!axes.reduced[i]) {
      axes.kept.push_back(c.Dim(0, i));
      continue;
    }
    if (!may_be_empty) LEMMA_REQUIRE(c, Ge(c.Dim(0, i), 1), "axis ", i, " is empty");
    axes.extents.push_back(c.Dim(0, i));
    if (axes.keepdims) axes.kept.push_back(1);
  }
  return axes;
}

struct Spec {
  std::string name, onnx, equation, doc;
  bool only_float = false;
  bool may_be_empty = false;
  std::function<void(OpContext& c, const Axes& axes)> define;  // adds the output
};

OpDef Reduction(Spec spec) {
  OpDef op;
  op.name = spec.name;
  op.group = "reduction";
  op.equation = spec.equation;
  op.doc = spec.doc;
  op.input_names = {"x"};
  op.attrs = {{"axes", AttrKind::kInts, std::nullopt, false,
               "axes to reduce over; negative ones count from the end"},
              {"keepdims", AttrKind::kInt, int64_t{0}, false,
               "1: reduced axes stay, with size 1; 0: they vanish"}};
  op.define = [spec](OpContext& c) -> absl::Status {
    LEMMA_RETURN_IF_ERROR(spec.only_float ? RequireFloat(c) : RequireNumeric(c));
    LEMMA_ASSIGN_OR_RETURN(Axes axes, ReadAxes(c, spec.may_be_empty));
    spec.define(c, axes);
    return absl::OkStatus();
  };
  op.examples = {"(f32[2,3,5]) {axes = [1]}", "(f32[2,3,5]) {axes = [0,-1], keepdims = 1}",
                 "(f32[7]) {axes = [0]}", "(f32[3,1,2,2]) {axes = [3,1,0,2]}"};
  if (!spec.only_float) op.examples.push_back("(i64[2,3]) {axes = [1], keepdims = 1}");
  op.onnx_import = {
      {spec.onnx, [name = spec.name](OnnxImport& node) { return ImportReduction(node, name); }}};
  std::vector<DType> types = OnnxNumbers();
  if (spec.name == "reduce_max" || spec.name == "reduce_min") {
    types.insert(types.end(), {DType::kI8, DType::kU8});
  }
  op.onnx_export = ExportFor(types, [onnx = spec.onnx](OnnxExport& out) {
    const Node& node = out.node();
    std::vector<std::string> inputs = {out.Input(0)};
    std::vector<std::pair<std::string, OnnxAttr>> attrs = {{"keepdims", node.Int("keepdims")}};
    if (onnx == "ReduceSum") {  // the only one whose axes are an input in operator set 17
      inputs.push_back(out.Constant(Tensor::Ints(node.Ints("axes"))));
    } else {
      attrs.emplace_back("axes", node.Ints("axes"));
    }
    out.Emit(onnx, inputs, {out.Output(0)}, attrs);
    return absl::OkStatus();
  });
  return op;
}

// y[i…] = reduce(r… < R…) x[i…,r…].
std::function<void(OpContext&, const Axes&)> Plain(ReduceKind kind) {
  return [kind](OpContext& c, const Axes& axes) {
    c.Output(c.dtype(0), axes.kept, [&](const Idx& out) {
      return c.Reduce(kind, axes.extents,
                      [&](const Idx& r) { return c.Read(0, axes.Join(out, r)); });
    });
  };
}

// A reduction in a gradient: its result with the reduced axes restored, with size 1.
struct Reduced {
  explicit Reduced(GradientBuilder& f) : f(f), x(f.Input(0)), shape(x.shape()) {
    for (int64_t axis : f.node().Ints("axes")) {
      axes.push_back(axis < 0 ? axis + x.type().rank() : axis);
      count *= static_cast<double>(shape[axes.back()]);
      shape[axes.back()] = 1;
    }
    dy = Kept(f.ResultGradient());
  }
  Value Kept(const Value& y) { return f.Reshape(y, shape); }

  GradientBuilder& f;
  const Value& x;
  Shape shape;
  std::vector<int64_t> axes;
  double count = 1;  // elements in each reduction
  Value dy;
};

// dx[i…,r…] = dy[i…].
std::vector<Value> SumGradient(GradientBuilder& f) {
  Reduced r(f);
  return {f.Expand(r.dy, r.x.shape())};
}

// dx[i…,r…] = dy[i…] / R….
std::vector<Value> MeanGradient(GradientBuilder& f) {
  Reduced r(f);
  return {f.Expand(f.Div(r.dy, r.count), r.x.shape())};
}

// dx[i…,r…] = dy[i…] / n[i…] where x[i…,r…] is the extreme, which n[i…] elements attain; else 0.
std::vector<Value> ExtremeGradient(GradientBuilder& f) {
  Reduced r(f);
  const Value attains = f.Op("equal", {r.x, r.Kept(f.Output())});
  const Value count = f.Sum(f.Cast(attains, r.x.dtype()), r.axes, /*keepdims=*/true);
  return {f.Where(attains, f.Div(r.dy, count), Value())};
}

// dx[i…,r…] = dy[i…] * prod(q… other than r…) x[i…,q…]. Not a quotient, since x may be 0: the
// reduced axes are merged, and each element gets a row of all elements with itself replaced by 1.
std::vector<Value> ProductGradient(GradientBuilder& f) {
  Reduced r(f);
  if (r.x.type().num_elements() == 0) return {Value()};
  const int64_t rank = r.x.type().rank(), count = static_cast<int64_t>(r.count);
  std::vector<int64_t> perm = AxesBut(rank, r.axes);
  Shape lines;
  for (int64_t axis : perm) lines.push_back(r.x.shape()[axis]);
  for (int64_t axis : AxesBut(rank, perm)) perm.push_back(axis);
  const Value last = f.Transpose(r.x, perm);
  Shape rows = lines;
  rows.insert(rows.end(), {1, count});
  std::vector<double> diagonal(static_cast<size_t>(count * count), 0);
  for (int64_t i = 0; i < count; ++i) diagonal[i * count + i] = 1;
  const Value itself = f.Constant(Tensor::FromDoubles({DType::kBool, {count, count}}, diagonal));
  const Value others = f.Op("where", {itself, f.Scalar(r.x.dtype(), 1), f.Reshape(last, rows)});
  const Value products = f.Op("reduce_prod", {others}, {{"axes", std::vector<int64_t>{-1}}});
  std::vector<int64_t> inverse(rank);
  for (int64_t d = 0; d < rank; ++d) inverse[perm[d]] = d;
  return {f.Mul(f.Transpose(f.Reshape(products, last.shape()), inverse), r.dy)};
}

// dx[i…,r…] = x[i…,r…] * dy[i…] / y[i…], 0 where y[i…] is.
std::vector<Value> L2Gradient(GradientBuilder& f) {
  Reduced r(f);
  const Value y = r.Kept(f.Output());
  const Value zero = f.Op("equal", {y, f.Scalar(y.dtype(), 0)});
  return {f.Mul(r.x, f.Where(zero, Value(), f.Div(r.dy, y)))};
}

// dx[i…,r…] = exp(x[i…,r…] - y[i…]) * dy[i…].
std::vector<Value> LogSumExpGradient(GradientBuilder& f) {
  Reduced r(f);
  return {f.Mul(f.Op("exp", {f.Sub(r.x, r.Kept(f.Output()))}), r.dy)};
}

// An ONNX reduction of f(x), where f is Lemma's unary operator, or "mul" for x*x.
OnnxImporter ImportReductionOf(std::string onnx, std::string f, std::string after = "") {
  return {onnx, [f, after](OnnxImport& node) -> absl::StatusOr<std::vector<Value>> {
            LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
            if (f == "mul") {
              LEMMA_ASSIGN_OR_RETURN(x, node.Op("mul", {x, x}));
            } else if (!f.empty()) {
              LEMMA_ASSIGN_OR_RETURN(x, node.Op(f, {x}));
            }
            LEMMA_ASSIGN_OR_RETURN(Value y, ImportReductionOfValue(node, "reduce_sum", x));
            if (!after.empty()) {
              LEMMA_ASSIGN_OR_RETURN(y, node.Op(after, {y}));
            }
            return std::vector<Value>{y};
          }};
}

}  // namespace

OpDef Make_reduce_sum() {
  Spec spec;
  spec.name = "reduce_sum";
  spec.onnx = "ReduceSum";
  spec.equation = "y[i…] = sum(r… < R…) x[i…,r…]";
  spec.may_be_empty = true;
  spec.define = Plain(ReduceKind::kSum);
  OpDef op = Reduction(spec);
  op.gradient = SumGradient;
  op.onnx_import.push_back(ImportReductionOf("ReduceL1", "abs"));
  op.onnx_import.push_back(ImportReductionOf("ReduceSumSquare", "mul"));
  op.onnx_import.push_back(ImportReductionOf("ReduceLogSum", "", "log"));
  return op;
}

OpDef Make_reduce_prod() {
  Spec spec;
  spec.name = "reduce_prod";
  spec.onnx = "ReduceProd";
  spec.equation = "y[i…] = prod(r… < R…) x[i…,r…]";
  spec.may_be_empty = true;
  spec.define = Plain(ReduceKind::kProd);
  OpDef op = Reduction(spec);
  op.gradient = ProductGradient;
  return op;
}

OpDef Make_reduce_max() {
  Spec spec;
  spec.name = "reduce_max";
  spec.onnx = "ReduceMax";
  spec.equation = "y[i…] = max(r… < R…) x[i…,r…]";
  spec.define = Plain(ReduceKind::kMax);
  OpDef op = Reduction(spec);
  op.gradient = ExtremeGradient;
  op.onnx_import.push_back(
      {"GlobalMaxPool", [](OnnxImport& node) { return ImportGlobalPool(node, "reduce_max"); }});
  return op;
}

OpDef Make_reduce_min() {
  Spec spec;
  spec.name = "reduce_min";
  spec.onnx = "ReduceMin";
  spec.equation = "y[i…] = min(r… < R…) x[i…,r…]";
  spec.define = Plain(ReduceKind::kMin);
  OpDef op = Reduction(spec);
  op.gradient = ExtremeGradient;
  return op;
}

OpDef Make_reduce_mean() {
  Spec spec;
  spec.name = "reduce_mean";
  spec.onnx = "ReduceMean";
  spec.equation = "y[i…] = sum(r… < R…) x[i…,r…] / R…";
  spec.only_float = true;
  spec.define = [](OpContext& c, const Axes& axes) {
    c.Output(c.dtype(0), axes.kept, [&](const Idx& out) {
      ScalarExpr count = ScalarExpr::Index(Product(axes.extents));
      return c.Sum(axes.extents, [&](const Idx& r) { return c.Read(0, axes.Join(out, r)); }) /
             count;
    });
  };
  OpDef op = Reduction(spec);
  op.gradient = MeanGradient;
  op.onnx_import.push_back({"GlobalAveragePool", [](OnnxImport& node) {
                              return ImportGlobalPool(node, "reduce_mean");
                            }});
  return op;
}

OpDef Make_reduce_l2() {
  Spec spec;
  spec.name = "reduce_l2";
  spec.onnx = "ReduceL2";
  spec.equation = "y[i…] = sqrt(sum(r… < R…) x[i…,r…]^2)";
  spec.only_float = true;
  spec.may_be_empty = true;
  spec.define = [](OpContext& c, const Axes& axes) {
    c.Output(c.dtype(0), axes.kept, [&](const Idx& out) {
      return Apply(ScalarFn::kSqrt, c.Sum(axes.extents, [&](const Idx& r) {
        ScalarExpr x = c.Read(0, axes.Join(out, r));
        return x * x;
      }));
    });
  };
  OpDef op = Reduction(spec);
  op.gradient = L2Gradient;
  for (const OnnxImporter& importer : NormComposites()) op.onnx_import.push_back(importer);
  return op;
}

OpDef Make_reduce_logsumexp() {
  Spec spec;
  spec.name = "reduce_logsumexp";
  spec.onnx = "ReduceLogSumExp";
  spec.equation =
      "y[i…] = m + log(sum(r… < R…) exp(x[i…,r…] - m)), m = max(r… < R…) x[i…,r…], or 0 if that is "
      "infinite";
  spec.doc = "The maximum is subtracted so that no exponential overflows.";
  spec.only_float = true;
  spec.define = [](OpContext& c, const Axes& axes) {
    TensorId max = c.Local(c.dtype(0), axes.kept, [&](const Idx& out) {
      return c.Reduce(ReduceKind::kMax, axes.extents,
                      [&](const Idx& r) { return c.Read(0, axes.Join(out, r)); });
    });
    c.Output(c.dtype(0), axes.kept, [&](const Idx& out) {
      const ScalarExpr most = c.Read(max, out);
      const ScalarExpr m = Apply(ScalarFn::kWhere, Apply(ScalarFn::kIsInf, most), 0, most);
      ScalarExpr sum = c.Sum(axes.extents, [&](const Idx& r) {
        return Apply(ScalarFn::kExp, c.Read(0, axes.Join(out, r)) - m);
      });
      return m + Apply(ScalarFn::kLog, sum);
    });
  };
  OpDef op = Reduction(spec);
  op.gradient = LogSumExpGradient;
  return op;
}

}  // namespace lemma::ops
