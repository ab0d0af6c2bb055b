#include "graph/grad/loss.h"

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

int64_t ClassAxis(const Loss& loss, const TensorType& x) {
  return loss.class_axis < 0 ? loss.class_axis + x.rank() : loss.class_axis;
}

Value MeanOf(Formula& f, const Value& x) { return f.Mean(x, AxesBut(x ? x.type().rank() : 0)); }

// Selects the labels' log-probabilities by comparing labels with class numbers. A label to be
// ignored may be no class number; it is not compared.
Value SoftmaxCrossEntropy(Formula& f, const Loss& loss, const Value& x, const Value& labels) {
  const int64_t axis = ClassAxis(loss, x.type()), rank = x.type().rank();
  Shape kept = x.shape(), line(rank, 1);
  kept[axis] = 1;
  line[axis] = x.shape()[axis];
  const Value classes =
      f.Constant(Tensor::FromInts({labels.dtype(), line}, AxesBut(x.shape()[axis])));
  const Value log_probabilities = f.Op("log_softmax", {x}, {{"axis", axis}});
  Value chosen = f.Op("equal", {f.Reshape(labels, kept), classes}), count;
  if (loss.ignore_index) {
    const Value ignored =
        f.Op("equal", {labels, f.Scalar(labels.dtype(), static_cast<double>(*loss.ignore_index))});
    const Value counts = f.Op("not", {ignored});
    chosen = f.Op("and", {chosen, f.Reshape(counts, kept)});
    count = f.Sum(f.Cast(counts, x.dtype()), AxesBut(labels.type().rank()));
  } else {
    count = f.Scalar(x.dtype(), static_cast<double>(labels.type().num_elements()));
  }
  const Value sum = f.Sum(f.Where(chosen, log_probabilities, Value()), AxesBut(rank));
  return f.Neg(f.Div(sum, count));
}

}  // namespace

absl::StatusOr<TensorType> LabelsType(const Loss& loss, const TensorType& x) {
  if (!IsFloat(x.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the output is ", x.ToString(), ", a loss takes floats"));
  }
  if (x.num_elements() == 0) return absl::InvalidArgumentError("the output is empty");
  if (loss.kind != LossKind::kSoftmaxCrossEntropy) return x;
  const int64_t axis = ClassAxis(loss, x);
  if (axis < 0 || axis >= x.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("the output is ", x.ToString(),
                                                   ", which has no class axis ", loss.class_axis));
  }
  TensorType labels{DType::kI64, x.shape};
  labels.shape.erase(labels.shape.begin() + axis);
  return labels;
}

Value LossOf(Formula& f, const Loss& loss, const Value& x, const Value& labels) {
  switch (loss.kind) {
    case LossKind::kSoftmaxCrossEntropy:
      return SoftmaxCrossEntropy(f, loss, x, labels);
    case LossKind::kMeanSquaredError:
      return MeanOf(f, f.Square(f.Sub(x, labels)));
    case LossKind::kBinaryCrossEntropyLogits:
      return MeanOf(f, f.Sub(f.Op("softplus", {x}), f.Mul(x, labels)));
  }
  return Value();
}

}  // namespace lemma
