// Concatenates tensors along an axis, and splits them.
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

AttrSpec Axis(std::string doc) {
  return {"axis", AttrKind::kInt, std::nullopt, false, std::move(doc)};
}

// y[…,i,…] = x_k[…, i - start_k, …] where start_k <= i < start_k + size_k.
absl::Status DefineConcat(OpContext& c) {
  LEMMA_ASSIGN_OR_RETURN(int axis, c.NormalizeAxis(c.Int("axis"), c.rank(0)));
  Idx dims = c.dims(0);
  std::vector<IndexExpr> starts = {0};
  for (int k = 1; k < c.num_inputs(); ++k) {
    LEMMA_REQUIRE(c, c.dtype(k) == c.dtype(0), "inputs must have one element type, not both ",
                  Name(c.dtype(0)), " and ", Name(c.dtype(k)));
    LEMMA_REQUIRE(c, c.rank(k) == c.rank(0), "inputs must have one rank, not both ", c.rank(0),
                  " and ", c.rank(k));
    for (int d = 0; d < c.rank(0); ++d) {
      if (d == axis) continue;
      LEMMA_REQUIRE(c, Eq(dims[d], c.Dim(k, d)), "the sizes ", dims[d].ToString(), " and ",
                    c.Dim(k, d).ToString(), " of dimension ", d, " must be equal");
    }
    starts.push_back(dims[axis]);
    dims[axis] = dims[axis] + c.Dim(k, axis);
  }
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    // From the last part to the first: if i < end_k then x_k else the following parts.
    ScalarExpr value;
    for (int k = c.num_inputs() - 1; k >= 0; --k) {
      Idx at = out;
      at[axis] = out[axis] - starts[k];
      ScalarExpr part = c.Read(k, std::move(at));
      value = k == c.num_inputs() - 1
                  ? part
                  : ScalarExpr::Select(Lt(out[axis], starts[k + 1]), part, value);
    }
    return value;
  });
  return absl::OkStatus();
}

// y_k[…,i,…] = x[…, start_k + i, …].
absl::Status DefineSplit(OpContext& c) {
  LEMMA_ASSIGN_OR_RETURN(int axis, c.NormalizeAxis(c.Int("axis"), c.rank(0)));
  const Idx& sizes = c.Sizes("sizes");
  LEMMA_REQUIRE(c, !sizes.empty(), "sizes is empty");
  IndexExpr total = 0;
  for (const IndexExpr& size : sizes) {
    LEMMA_REQUIRE(c, Ge(size, 0), "the size ", size.ToString(), " is negative");
    total = total + size;
  }
  LEMMA_REQUIRE(c, Eq(total, c.Dim(0, axis)), "the sizes add up to ", total.ToString(), ", not to ",
                c.Dim(0, axis).ToString());
  IndexExpr start = 0;
  for (const IndexExpr& size : sizes) {
    Idx dims = c.dims(0);
    dims[axis] = size;
    c.Output(c.dtype(0), dims, [&](const Idx& out) {
      Idx at = out;
      at[axis] = out[axis] + start;
      return c.Read(0, std::move(at));
    });
    start = start + size;
  }
  return absl::OkStatus();
}

// dx_k[…,i,…] = dy[…, start_k + i, …]: a split.
std::vector<Value> ConcatGradient(GradientBuilder& f) {
  if (f.num_inputs() == 1) return {f.ResultGradient()};
  std::vector<int64_t> sizes;
  const int64_t rank = f.Output().type().rank(), axis = (f.node().Int("axis") + rank) % rank;
  for (int i = 0; i < f.num_inputs(); ++i) sizes.push_back(f.Input(i).shape()[axis]);
  return f.Ops("split", {f.ResultGradient()}, {{"axis", axis}, {"sizes", sizes}});
}

// dx[…, start_k + i, …] = dy_k[…,i,…]: a concatenation, with zeros for unused parts.
std::vector<Value> SplitGradient(GradientBuilder& f) {
  std::vector<Value> parts;
  for (int i = 0; i < f.node().num_outputs(); ++i) {
    parts.push_back(f.OrZeros(f.ResultGradient(i), f.node().type(i)));
  }
  return {f.Concat(std::move(parts), f.node().Int("axis"))};
}

absl::StatusOr<std::vector<Value>> ImportConcat(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(
      int64_t axis, node.Int("axis", node.opset() < 4 ? std::optional<int64_t>(1) : std::nullopt));
  std::vector<Value> parts;
  for (int i = 0; i < node.num_inputs(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(Value part, node.Input(i));
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return absl::InvalidArgumentError("there are no inputs");
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, parts[0].type().rank()));
  if (parts.size() == 1) return parts;
  return node.Ops("concat", std::move(parts), {{"axis", axis}});
}

// Sizes are an attribute before operator set 13 and an input since then. Without them the parts are
// equal, except for a last part with the remainder.
absl::StatusOr<std::vector<Value>> ImportSplit(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 0));
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, x.type().rank()));
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, node.Ints("split", std::vector<int64_t>{}));
  LEMMA_ASSIGN_OR_RETURN(int64_t parts, node.Int("num_outputs", node.num_named_outputs()));
  if (node.HasInput(1)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor given, node.ConstantInput(1));
    sizes = given.ToInts();
  }
  if (sizes.empty()) {
    int64_t left = x.shape()[axis];
    if (parts < 1) return absl::InvalidArgumentError("num_outputs must be positive");
    if (node.opset() < 18 && !IsSymbolic(left) && left % parts != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("size ", left, " does not divide into ", parts, " equal parts"));
    }
    if (IsSymbolic(left)) {
      auto part = QuotientOf(left, parts);
      if (!part) {
        return node.Unsupported(absl::StrCat("whether size ", SizeName(left), " divides into ",
                                             parts, " equal parts is not known"));
      }
      sizes.assign(parts, *part);
      return node.Ops("split", {x}, {{"axis", axis}, {"sizes", sizes}});
    }
    const int64_t size = (left + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) {
      sizes.push_back(std::min(size, left));
      left -= sizes.back();
    }
  }
  return node.Ops("split", {x}, {{"axis", axis}, {"sizes", sizes}});
}

}  // namespace

OpDef Make_concat() {
  OpDef op;
  op.name = "concat";
  op.group = "layout";
  op.equation = "y[…,i,…] = x_k[…, i - start_k, …] where start_k <= i < start_k + size_k";
  op.doc = "size_k is the size of x_k along the axis, start_k the sum of the sizes before it.";
  op.input_names = {"x"};
  op.min_inputs = 1;
  op.max_inputs = kVariadic;
  op.attrs = {Axis("the axis along which the inputs follow each other")};
  op.define = DefineConcat;
  op.gradient = ConcatGradient;
  op.examples = {"(f32[2,3], f32[4,3]) {axis = 0}",
                 "(f32[2,1,2], f32[2,3,2], f32[2,2,2]) {axis = -2}", "(f32[3]) {axis = 0}",
                 "(i64[1], i64[0], i64[2]) {axis = 0}"};
  op.onnx_import = {{"Concat", ImportConcat}};
  op.onnx_export = ExportAs("Concat", {{"axis", "axis"}});
  return op;
}

OpDef Make_split() {
  OpDef op;
  op.name = "split";
  op.group = "layout";
  op.equation = "y_k[…,i,…] = x[…, start_k + i, …], i < sizes_k";
  op.doc = "One output for each size; start_k is the sum of the sizes before sizes_k.";
  op.input_names = {"x"};
  op.attrs = {Axis("the axis along which x is cut"),
              {"sizes", AttrKind::kInts, std::nullopt, true, "sizes of the parts along the axis"}};
  op.define = DefineSplit;
  op.gradient = SplitGradient;
  op.examples = {"(f32[2,5]) {axis = 1, sizes = [2,3]}", "(f32[6,2]) {axis = -2, sizes = [1,2,3]}",
                 "(i64[3]) {axis = 0, sizes = [3]}", "(f32[2]) {axis = 0, sizes = [2,0]}"};
  op.onnx_import = {{"Split", ImportSplit}};
  op.onnx_export = [](OnnxExport& out) {
    const Node& node = out.node();
    std::vector<std::string> outputs;
    for (int i = 0; i < node.num_outputs(); ++i) outputs.push_back(out.Output(i));
    out.Emit("Split", {out.Input(0), out.Constant(Tensor::Ints(node.Ints("sizes")))},
             std::move(outputs), {{"axis", node.Int("axis")}});
    return absl::OkStatus();
  };
  return op;
}

}  // namespace lemma::ops
