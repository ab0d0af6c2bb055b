// Numbers made of sizes. They are what a model's shape arithmetic begins with where sizes are
// symbolic (graph/sizes/symbolic_size.h).
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"

namespace lemma::ops {
namespace {

// y[i] = sizes[i].
absl::Status DefineSizes(OpContext& c) {
  const Idx& sizes = c.Sizes("sizes");
  c.Output(DType::kI64, {static_cast<int64_t>(sizes.size())}, [&](const Idx& out) {
    ScalarExpr value = 0;
    for (size_t i = sizes.size(); i-- > 0;) {
      value = ScalarExpr::Select(Eq(out[0], static_cast<int64_t>(i)), ScalarExpr::Index(sizes[i]),
                                 value);
    }
    return value;
  });
  return absl::OkStatus();
}

// y[i] = i.
absl::Status DefineIota(OpContext& c) {
  const IndexExpr& size = c.Size("size");
  LEMMA_REQUIRE(c, Ge(size, 0), "the size ", size.ToString(), " is negative");
  c.Output(DType::kI64, {size}, [&](const Idx& out) { return ScalarExpr::Index(out[0]); });
  return absl::OkStatus();
}

}  // namespace

OpDef Make_sizes() {
  OpDef op;
  op.name = "sizes";
  op.group = "layout";
  op.equation = "y[i] = sizes[i]";
  op.doc = "Sizes as an i64 tensor, for models with symbolic sizes.";
  op.min_inputs = op.max_inputs = 0;
  op.attrs = {{"sizes", AttrKind::kInts, std::nullopt, true, "the elements"}};
  op.define = DefineSizes;
  op.examples = {"() {sizes = [3, 1, 4]}", "() {sizes = [7]}"};
  op.onnx_export = [](OnnxExport& out) {
    const std::string sizes = out.Constant(Tensor::Ints(out.node().Ints("sizes")));
    out.Emit("Identity", {sizes}, {out.Output(0)});
    return absl::OkStatus();
  };
  return op;
}

OpDef Make_iota() {
  OpDef op;
  op.name = "iota";
  op.group = "layout";
  op.equation = "y[i] = i";
  op.doc = "The numbers from 0 on, as i64.";
  op.min_inputs = op.max_inputs = 0;
  op.attrs = {{"size", AttrKind::kInt, std::nullopt, true, "size of the result"}};
  op.define = DefineIota;
  op.examples = {"() {size = 5}", "() {size = 1}", "() {size = 0}"};
  op.onnx_export = [](OnnxExport& out) -> absl::Status {
    const std::string limit = out.Temporary();
    out.Emit("Squeeze", {out.Constant(Tensor::Ints({out.node().Int("size")}))}, {limit});
    auto number = [&](int64_t value) {
      return out.Constant(*Tensor::FromInts({DType::kI64, {}}, {value}));
    };
    out.Emit("Range", {number(0), limit, number(1)}, {out.Output(0)});
    return absl::OkStatus();
  };
  return op;
}

}  // namespace lemma::ops
