#include "graph/ops/layout/expand.h"

#include "graph/gradient_builder.h"
#include "graph/ops/broadcast.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

// y[i…] = x[j…], j = 0 where x has size 1 and i otherwise.
absl::Status DefineExpand(OpContext& c) {
  const Idx &dims = c.dims(0), &shape = c.Sizes("shape");
  LEMMA_REQUIRE(c, dims.size() <= shape.size(), "x has a higher rank than the shape");
  for (const IndexExpr& size : shape) {
    LEMMA_REQUIRE(c, Ge(size, 0), "the size ", size.ToString(), " is negative");
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (Repeats(dims[i])) continue;
    const IndexExpr& size = shape[shape.size() - dims.size() + i];
    LEMMA_REQUIRE(c, Eq(dims[i], size), "size ", dims[i].ToString(), " of dimension ", i,
                  " cannot become ", size.ToString());
  }
  c.Output(c.dtype(0), shape, [&](const Idx& out) { return c.Read(0, BroadcastIndex(dims, out)); });
  return absl::OkStatus();
}

// y[i…] = x[i mod size …].
absl::Status DefineTile(OpContext& c) {
  const Idx& repeats = c.Sizes("repeats");
  LEMMA_REQUIRE(c, static_cast<int>(repeats.size()) == c.rank(0), "repeats takes ", c.rank(0),
                " entries");
  Idx dims;
  for (int d = 0; d < c.rank(0); ++d) {
    LEMMA_REQUIRE(c, Ge(repeats[d], 0), "repeats must not be negative");
    dims.push_back(c.Dim(0, d) * repeats[d]);
  }
  auto is = [](const IndexExpr& e, int64_t value) { return e.is_const() && e.value() == value; };
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    Idx at;
    for (int d = 0; d < c.rank(0); ++d) {
      const IndexExpr& size = c.Dim(0, d);
      at.push_back(is(repeats[d], 1) || is(size, 0) ? out[d] : Mod(out[d], size));
    }
    return c.Read(0, std::move(at));
  });
  return absl::OkStatus();
}

// dx[j…] = sum(repeats r…) dy[r*size + j …].
std::vector<Value> TileGradient(GradientBuilder& f) {
  const Shape& shape = f.Input(0).shape();
  Shape dims;
  std::vector<int64_t> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t repeats = f.node().Ints("repeats")[d];
    if (repeats != 1) {
      axes.push_back(static_cast<int64_t>(dims.size()));
      dims.push_back(repeats);
    }
    dims.push_back(shape[d]);
  }
  return {f.Sum(f.Reshape(f.ResultGradient(), dims), axes)};
}

// In ONNX, the shape and x broadcast each other.
absl::StatusOr<std::vector<Value>> ImportExpand(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Tensor given, node.ConstantInput(1));
  auto shape = BroadcastShapes(x.shape(), given.ToInts());
  if (!shape) {
    return absl::InvalidArgumentError(
        absl::StrCat(x.type().ToString(), " does not broadcast with ", ToString(given.ToInts())));
  }
  if (*shape == x.shape()) return std::vector<Value>{x};
  return node.Ops("expand", {x}, {{"shape", *shape}});
}

absl::StatusOr<std::vector<Value>> ImportTile(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  if (node.opset() < 6) return node.Unsupported("operator sets before 6");
  LEMMA_ASSIGN_OR_RETURN(Tensor repeats, node.ConstantInput(1));
  return node.Ops("tile", {x}, {{"repeats", repeats.ToInts()}});
}

}  // namespace

absl::StatusOr<Value> Filled(OnnxImport& node, const TensorType& type, double value) {
  LEMMA_ASSIGN_OR_RETURN(Value scalar, node.Scalar(type.dtype, value));
  if (type.shape.empty()) return scalar;
  return node.Op("expand", {scalar}, {{"shape", type.shape}});
}

OpDef Make_expand() {
  OpDef op;
  op.name = "expand";
  op.group = "layout";
  op.equation = "y[…,i…] = x[j…], j = 0 where x has size 1, otherwise j = i";
  op.doc = "Broadcasts x to a shape, aligned at the right.";
  op.input_names = {"x"};
  op.attrs = {{"shape", AttrKind::kInts, std::nullopt, true, "shape of the result"}};
  op.define = DefineExpand;
  // dx[j…] = sum(i… that come from j…) dy[i…]
  op.gradient = [](GradientBuilder& f) {
    return std::vector<Value>{f.SumTo(f.ResultGradient(), f.Input(0).shape())};
  };
  op.examples = {"(f32[3]) {shape = [2,3]}", "(f32[2,1,3]) {shape = [2,4,3]}",
                 "(f32[]) {shape = [2,2]}", "(i64[1]) {shape = [0]}", "(f32[2]) {shape = [2]}"};
  op.onnx_import = {{"Expand", ImportExpand}};
  op.onnx_export = [](OnnxExport& out) {
    out.Emit("Expand", {out.Input(0), out.Constant(Tensor::Ints(out.node().Ints("shape")))},
             {out.Output(0)});
    return absl::OkStatus();
  };
  return op;
}

OpDef Make_tile() {
  OpDef op;
  op.name = "tile";
  op.group = "layout";
  op.equation = "y[i…] = x[i mod size …]";
  op.input_names = {"x"};
  op.attrs = {{"repeats", AttrKind::kInts, std::nullopt, true,
               "number of copies of x along each dimension"}};
  op.define = DefineTile;
  op.gradient = TileGradient;
  op.examples = {"(f32[2,3]) {repeats = [2,1]}", "(f32[2,3]) {repeats = [3,2]}",
                 "(i64[2]) {repeats = [0]}", "(f32[1,3]) {repeats = [4,1]}"};
  op.onnx_import = {{"Tile", ImportTile}};
  op.onnx_export = [](OnnxExport& out) {
    out.Emit("Tile", {out.Input(0), out.Constant(Tensor::Ints(out.node().Ints("repeats")))},
             {out.Output(0)});
    return absl::OkStatus();
  };
  return op;
}

}  // namespace lemma::ops
