#include <algorithm>
#include <numeric>

#include "graph/onnx_form.h"
#include "graph/ops/onnx_axes.h"
#include "graph/ops/onnx_composites.h"
#include "graph/ops/status_macros.h"

namespace lemma::ops {
namespace {

constexpr int64_t kMaxClasses = int64_t{1} << 24;

// [1,C,1…]: the classes' numbers, except that no label equals the number of the ignored class.
absl::StatusOr<Value> ClassNumbers(OnnxImport& node, DType dtype, const Shape& x) {
  if (x[1] > kMaxClasses) return node.Unsupported(absl::StrCat(x[1], " classes"));
  std::vector<int64_t> numbers(x[1]);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (node.FindAttr("ignore_index") != nullptr) {
    LEMMA_ASSIGN_OR_RETURN(int64_t ignored, node.Int("ignore_index"));
    if (ignored >= 0 && ignored < x[1]) numbers[ignored] = -1;
  }
  Shape shape(x.size(), 1);
  shape[1] = x[1];
  LEMMA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::FromInts({dtype, shape}, numbers));
  return node.Constant(tensor);
}

// loss[n,i…] = -sum(c < C, c = label[n,i…]) x[n,c,i…] * weight[c], 0 where the label is to be
// ignored; reduced to its sum, or to its sum divided by that of the weights chosen.
absl::StatusOr<Value> NegativeLogLikelihood(OnnxImport& node, const Value& x) {
  LEMMA_ASSIGN_OR_RETURN(Value label, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(std::string reduction, node.String("reduction", "mean"));
  Shape shape = x.shape(), label_shape = shape;
  if (shape.size() < 2) return absl::InvalidArgumentError("scores must be [N,C,...]");
  label_shape.erase(label_shape.begin() + 1);
  if (label.shape() != label_shape) {
    return absl::InvalidArgumentError(absl::StrCat("labels ", ToString(label.shape()), " must be ",
                                                   ToString(label_shape), " for scores ",
                                                   ToString(shape)));
  }
  label_shape.insert(label_shape.begin() + 1, 1);
  Shape per_class(shape.size(), 1);
  per_class[1] = shape[1];

  LEMMA_ASSIGN_OR_RETURN(label, Reshape(node, label, label_shape));
  LEMMA_ASSIGN_OR_RETURN(Value classes, ClassNumbers(node, label.dtype(), shape));
  LEMMA_ASSIGN_OR_RETURN(Value chosen, node.Op("equal", {label, classes}));
  LEMMA_ASSIGN_OR_RETURN(Value zero, node.Scalar(x.dtype(), 0));
  LEMMA_ASSIGN_OR_RETURN(Value weight, node.Scalar(x.dtype(), 1));
  LEMMA_ASSIGN_OR_RETURN(Value score, node.Op("where", {chosen, x, zero}));
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(weight, node.Input(2));
    LEMMA_ASSIGN_OR_RETURN(weight, Reshape(node, weight, per_class));
    LEMMA_ASSIGN_OR_RETURN(score, node.Op("mul", {score, weight}));
  }
  std::vector<int64_t> all(shape.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<int64_t> axes = reduction == "none" ? std::vector<int64_t>{1} : all;
  LEMMA_ASSIGN_OR_RETURN(Value sum, node.Op("reduce_sum", {score}, {{"axes", axes}}));
  LEMMA_ASSIGN_OR_RETURN(Value loss, node.Op("neg", {sum}));
  if (reduction == "none" || reduction == "sum") return loss;
  if (reduction != "mean") {
    return absl::InvalidArgumentError(
        absl::StrCat("reduction is ", reduction, ", it must be none, sum or mean"));
  }
  LEMMA_ASSIGN_OR_RETURN(Value weights, node.Op("where", {chosen, weight, zero}));
  LEMMA_ASSIGN_OR_RETURN(Value total, node.Op("reduce_sum", {weights}, {{"axes", all}}));
  return node.Op("div", {loss, total});
}

absl::StatusOr<std::vector<Value>> ImportNegativeLogLikelihood(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value loss, NegativeLogLikelihood(node, x));
  return std::vector<Value>{loss};
}

absl::StatusOr<std::vector<Value>> ImportSoftmaxCrossEntropy(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value log_probability,
                         node.Op("log_softmax", {x}, {{"axis", int64_t{1}}}));
  LEMMA_ASSIGN_OR_RETURN(Value loss, NegativeLogLikelihood(node, log_probability));
  return std::vector<Value>{loss, log_probability};
}

}  // namespace

std::vector<OnnxImporter> LossComposites() {
  return {{"NegativeLogLikelihoodLoss", ImportNegativeLogLikelihood},
          {"SoftmaxCrossEntropyLoss", ImportSoftmaxCrossEntropy}};
}

}  // namespace lemma::ops
