#include "graph/onnx/composites/dtype.h"
#include "graph/ops/checks.h"
#include "graph/ops/elementwise/elementwise.h"
#include "graph/ops/elementwise/elementwise_gradient.h"

namespace lemma::ops {
namespace {

// y[i…] = x[i…] as another element type.
absl::Status DefineCast(OpContext& c) {
  const std::optional<DType> to = ParseDType(c.String("dtype"));
  LEMMA_REQUIRE(c, to.has_value(), "there is no element type ", c.String("dtype"));
  c.Output(*to, c.dims(0), [&](const Idx& i) {
    ScalarExpr x = c.Read(0, i);
    if (*to == DType::kBool && c.dtype(0) != DType::kBool) {
      return Apply(ScalarFn::kNot, Apply(ScalarFn::kEqual, x, 0));
    }
    return IsInteger(*to) && IsReal(c.dtype(0)) ? Apply(ScalarFn::kTrunc, x) : x;
  });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> ImportCast(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(int64_t number, node.Int("to"));
  LEMMA_ASSIGN_OR_RETURN(DType to, FromOnnxNumber(node, number));
  LEMMA_ASSIGN_OR_RETURN(const SmallCast how, ReadSmallCast(node));
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value y, CastAsOnnx(node, x, to, how));
  return std::vector<Value>{y};
}

absl::StatusOr<std::vector<Value>> ImportCastLike(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value like, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(const SmallCast how, ReadSmallCast(node));
  LEMMA_ASSIGN_OR_RETURN(Value y, CastAsOnnx(node, x, like.dtype(), how));
  return std::vector<Value>{y};
}

// Whether `x` is limited to the numbers of the type.
bool IsClipped(const Value& x, double least, double most) {
  const Node& node = x.node();
  return node.IsOp("clip") && node.Float("min") >= least && node.Float("max") <= most;
}

// ONNX's Cast wraps a float that becomes an integer of 4 or 2 bits, and rounds it.
absl::Status ExportToNarrow(OnnxExport& out) {
  const Value& x = out.node().inputs()[0];
  const DType to = out.node().type(0).dtype;
  const auto least = static_cast<double>(LeastInteger(to));
  const auto most = static_cast<double>(LargestInteger(to));
  auto emit = [&](const char* op_type, std::vector<std::string> inputs, DType dtype) {
    std::string result = out.Temporary();
    std::vector<std::pair<std::string, OnnxAttr>> attrs;
    if (absl::string_view(op_type) == "Cast") attrs = CastAttributes(dtype);
    out.Emit(op_type, std::move(inputs), {result}, std::move(attrs));
    return result;
  };
  std::string number = out.Input(0);
  const DType from = IsSmallFloat(x.dtype()) ? DType::kF32 : x.dtype();
  if (from != x.dtype()) number = emit("Cast", {number}, from);
  if (!IsClipped(x, least, most)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor low, Tensor::Filled({from, {}}, least));
    LEMMA_ASSIGN_OR_RETURN(Tensor high, Tensor::Filled({from, {}}, most));
    number = emit("Clip", {number, out.Constant(low), out.Constant(high)}, from);
  }
  number = emit("Cast", {number}, DType::kI32);
  out.Emit("Cast", {number}, {out.Output(0)}, CastAttributes(to));
  return absl::OkStatus();
}

}  // namespace

OpDef Make_cast() {
  OpDef op;
  op.name = "cast";
  op.group = "element-wise";
  op.equation = "y = x, as another element type";
  op.doc =
      "From a float to an integer type: cut off towards 0; a value outside the type's range "
      "becomes the nearest number of the type, and NaN becomes 0. From an integer to an integer "
      "type that does not have the value: wraps. To bool: x ≠ 0. To a narrower float type: rounded "
      "to the nearest number of the type, ties to even; what would round to a number above the "
      "largest one becomes infinite, or NaN if the type has no infinities, or the largest number "
      "if "
      "it has no NaN. To f8e8m0, ties go up, and what is outside its range becomes NaN.";
  op.input_names = {"x"};
  op.attrs = {
      {"dtype", AttrKind::kString, std::nullopt, false,
       "the new element type: f32, f64, f16, bf16, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, "
       "f8e8m0, f4e2m1, i64, i32, i16, i8, i4, i2, u64, u32, u16, u8, u4, u2 or bool"}};
  op.converts_small_floats = true;
  op.define = DefineCast;
  // Without small types, for which a GPU has no kernels: the examples are for every back end.
  op.examples = {
      "(f32[2,3]) {dtype = \"i64\"}", "(i32[2]) {dtype = \"f32\"}", "(f32[]) {dtype = \"bool\"}",
      "(bool[3]) {dtype = \"i64\"}",  "(f32[3]) {dtype = \"f16\"}", "(f32[3]) {dtype = \"bf16\"}",
      "(i64[2]) {dtype = \"u8\"}",    "(f32[3]) {dtype = \"u64\"}", "(u64[3]) {dtype = \"f32\"}",
      "(u64[3]) {dtype = \"i16\"}",   "(i16[3]) {dtype = \"u32\"}", "(u32[3]) {dtype = \"u16\"}"};
  // dx = dy, as x's element type
  op.gradient = StatedGradient(
      [](GradientBuilder& f, auto& x, auto&, auto& dy) { return f.Cast(dy, x.dtype()); });
  op.onnx_import = {{"Cast", ImportCast}, {"CastLike", ImportCastLike}};
  op.onnx_export = [](OnnxExport& out) {
    const DType from = out.node().inputs()[0].dtype(), to = out.node().type(0).dtype;
    if (IsReal(from) && IsInteger(to) && BitsOf(to) < 8) return ExportToNarrow(out);
    out.Emit("Cast", {out.Input(0)}, {out.Output(0)}, CastAttributes(to));
    return absl::OkStatus();
  };
  return op;
}

}  // namespace lemma::ops
