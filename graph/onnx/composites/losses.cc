#include <algorithm>
#include <numeric>

#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {
namespace {

constexpr int64_t kMaxClasses = int64_t{1} << 24;

// The class numbers as [1,C,1…].
absl::StatusOr<Value> ClassNumbers(OnnxImport& node, DType dtype, const Shape& x) {
  if (x[1] > kMaxClasses) return node.Unsupported(absl::StrCat(x[1], " classes"));
  std::vector<int64_t> numbers(x[1]);
  std::iota(numbers.begin(), numbers.end(), 0);
  Shape shape(x.size(), 1);
  shape[1] = x[1];
  LEMMA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::FromInts({dtype, shape}, numbers));
  return node.Constant(tensor);
}

// The labels as [N,1,…].
absl::StatusOr<Value> Labels(OnnxImport& node, const Shape& x) {
  LEMMA_ASSIGN_OR_RETURN(Value label, node.Input(1));
  Shape shape = x;
  shape.erase(shape.begin() + 1);
  if (label.shape() != shape) {
    return absl::InvalidArgumentError(absl::StrCat("labels ", ToString(label.shape()), " must be ",
                                                   ToString(shape), " for scores ", ToString(x)));
  }
  shape.insert(shape.begin() + 1, 1);
  return Reshape(node, label, shape);
}

// loss[n,i…] = -sum(c < C, c = label[n,i…]) x[n,c,i…] * weight[c], 0 where the label is ignored.
// Reduced to its sum, or to its sum divided by the sum of the selected weights. A negative label
// counts from the end, as in ONNX's own definition by GatherElements.
absl::StatusOr<Value> NegativeLogLikelihood(OnnxImport& node, const Value& x) {
  LEMMA_ASSIGN_OR_RETURN(std::string reduction, node.String("reduction", "mean"));
  if (reduction != "none" && reduction != "sum" && reduction != "mean") {
    return absl::InvalidArgumentError(
        absl::StrCat("reduction is ", reduction, ", it must be none, sum or mean"));
  }
  const Shape& shape = x.shape();
  if (shape.size() < 2) return absl::InvalidArgumentError("scores must be [N,C,...]");
  LEMMA_ASSIGN_OR_RETURN(Value label, Labels(node, shape));
  LEMMA_ASSIGN_OR_RETURN(Value classes, ClassNumbers(node, label.dtype(), shape));
  OnnxBuild b(node);
  auto integer = [&](int64_t value) { return b.Scalar(label.dtype(), static_cast<double>(value)); };
  Value negative = b.Op("less", {label, integer(0)});
  Value number = b.Op("where", {negative, b.Add(label, integer(shape[1])), label});
  Value ignored;
  if (node.FindAttr("ignore_index") != nullptr) {
    LEMMA_ASSIGN_OR_RETURN(int64_t ignore, node.Int("ignore_index"));
    ignored = b.Op("equal", {label, integer(ignore)});
    number = b.Op("where", {ignored, integer(-1), number});
  }
  Value chosen = b.Op("equal", {number, classes});
  Value zero = b.Scalar(x.dtype(), 0), one = b.Scalar(x.dtype(), 1), weight;
  Value score = b.Op("where", {chosen, x, zero});
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(weight, node.Input(2));
    Shape per_class(shape.size(), 1);
    per_class[1] = shape[1];
    weight = b.Reshape(weight, per_class);
    score = b.Mul(score, weight);
  }
  std::vector<int64_t> all(shape.size());
  std::iota(all.begin(), all.end(), 0);
  Value sum =
      b.Op("reduce_sum", {score}, {{"axes", reduction == "none" ? std::vector<int64_t>{1} : all}});
  Value loss = b.Op("neg", {sum});
  if (reduction == "mean") {
    Value weights;
    if (weight) {
      weights = b.Op("where", {chosen, weight, zero});
    } else if (ignored) {
      weights = b.Op("where", {ignored, zero, one});
    }
    Value total = weights ? b.Op("reduce_sum", {weights}, {{"axes", all}})
                          : b.Scalar(x.dtype(), static_cast<double>(label.type().num_elements()));
    loss = b.Div(loss, total);
  }
  if (!b.status().ok()) return b.status();
  return loss;
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
