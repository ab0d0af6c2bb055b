#include "graph/ops/random/dropout.h"

#include <cmath>

#include "graph/gradient_builder.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/ops/layout/expand.h"

namespace lemma::ops {
namespace {

constexpr int64_t kPrime = 67108859;  // the largest below 2^26: products stay below 2^52

class Generator {
 public:
  Generator(Formula& f, const Value& seed, int64_t salt)
      : f_(f), key_(Reduced(f.Add(Times(Reduced(seed), 48271), Number(salt % kPrime)))) {}

  // One pseudo-random number in [0, kPrime) per element of `shape`: a linear function of position
  // and key, which differs between them, mixed by three products.
  Value Numbers(const Shape& shape) {
    Value h = Reduced(AddPositions(key_, shape, 39916801));
    for (const int64_t addend : {7919, 15485863, 32452843}) {
      h = Reduced(f_.Op("mul", {h, Reduced(f_.Add(h, Number(addend)))}));
      h = Reduced(f_.Add(h, key_));
    }
    return h;
  }

 private:
  Value Number(int64_t value) { return f_.Constant(Tensor::FromInts({DType::kI64, {}}, {value})); }
  Value Reduced(const Value& x) { return f_.Op("mod", {x, Number(kPrime)}); }
  Value Times(const Value& x, int64_t factor) { return f_.Op("mul", {x, Number(factor)}); }

  // x plus each element's row-major position times `factor`, up to a multiple of kPrime. The sum
  // has one small constant for each axis, so no positions of all elements are kept.
  Value AddPositions(Value x, const Shape& shape, int64_t factor) {
    const std::vector<int64_t> strides = RowMajorStrides(shape);
    for (size_t d = 0; d < shape.size(); ++d) {
      Shape line(shape.size() - d, 1);
      line[0] = shape[d];
      std::vector<int64_t> terms = AxesBut(shape[d]);
      for (int64_t& t : terms) t = t * strides[d] % kPrime * factor % kPrime;
      x = f_.Op("add", {x, f_.Constant(Tensor::FromInts({DType::kI64, line}, terms))});
    }
    return x;
  }

  Formula& f_;
  const Value key_;
};

struct DropoutNode {
  Value x;
  double ratio = 0.5;
  bool training = false;
};

absl::StatusOr<DropoutNode> ReadDropout(OnnxImport& node) {
  DropoutNode d;
  LEMMA_ASSIGN_OR_RETURN(d.x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(d.ratio, node.Float("ratio", 0.5));
  node.FindAttr("seed");
  if (node.opset() < 12) return d;
  if (node.HasInput(1)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor given, node.ConstantInput(1));
    d.ratio = given.size() == 1 ? given.AtDouble(0) : d.ratio;
  }
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor given, node.ConstantInput(2));
    d.training = given.size() == 1 && given.AtInt(0) != 0;
  }
  return d;
}

// Inference drops nothing: returns the value itself, and a mask that is true everywhere.
absl::StatusOr<std::vector<Value>> ImportDropout(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(const DropoutNode d, ReadDropout(node));
  if (d.training && d.ratio != 0) return node.Unsupported("training mode draws random numbers");
  std::vector<Value> outputs = {d.x};
  if (node.num_outputs() > 1) {
    const DType mask_type = node.opset() < 10 ? d.x.dtype() : DType::kBool;
    LEMMA_ASSIGN_OR_RETURN(Value mask, Filled(node, {mask_type, d.x.shape()}, 1));
    outputs.push_back(std::move(mask));
  }
  return outputs;
}

absl::StatusOr<std::vector<Value>> ImportForTraining(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(const DropoutNode d, ReadDropout(node));
  if (node.num_outputs() > 1) return node.Unsupported("the mask of a dropout in training");
  if (d.ratio == 0) return std::vector<Value>{d.x};
  return node.Ops("dropout", {d.x}, {{"ratio", d.ratio}});
}

// y = x.
absl::Status DefineDropout(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireFloat(c));
  const ScalarExpr& ratio = c.Real("ratio");
  LEMMA_REQUIRE(
      c, ratio.kind() != ScalarExpr::Kind::kConst || (ratio.value() >= 0 && ratio.value() < 1),
      "ratio must be at least 0 and below 1");
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) { return c.Read(0, i); });
  return absl::OkStatus();
}

}  // namespace

Value Dropout(Formula& f, const Value& x, double ratio, const Value& seed, int64_t salt) {
  if (ratio == 0 || !x) return x;
  const Value numbers = Generator(f, seed, salt).Numbers(x.shape());
  const double bound = std::round(ratio * static_cast<double>(kPrime));
  const Value dropped = f.Op("less", {numbers, f.Scalar(DType::kI64, bound)});
  return f.Where(dropped, Value(), f.Mul(x, 1 / (1 - ratio)));
}

OpDef Make_dropout() {
  OpDef op;
  op.name = "dropout";
  op.group = "element-wise";
  op.equation = "y = x";
  op.doc =
      "The identity. Only the import for training makes this node; `lemma train` then replaces it "
      "by a dropout with random zeros. Any other import of ONNX's Dropout returns x itself or, if "
      "the Dropout is in training mode, keeps it as an opaque operator.";
  op.input_names = {"x"};
  op.attrs = {{"ratio", AttrKind::kFloat, 0.5, true, "share of the elements that training drops"}};
  op.define = DefineDropout;
  // dx = dy
  op.gradient = [](GradientBuilder& f) { return std::vector<Value>{f.ResultGradient()}; };
  op.examples = {"(f32[2,3])", "(f32[]) {ratio = 0.25}"};
  op.onnx_import = {{"Dropout", ImportDropout}, {"training.Dropout", ImportForTraining}};
  op.onnx_export = [](OnnxExport& out) -> absl::Status {
    LEMMA_ASSIGN_OR_RETURN(Tensor ratio,
                           Tensor::Filled({DType::kF32, {}}, out.node().Float("ratio")));
    out.Emit("Dropout", {out.Input(0), out.Constant(std::move(ratio))}, {out.Output(0)});
    return absl::OkStatus();
  };
  return op;
}

}  // namespace lemma::ops
