// Losses: the distance of a model's output from its labels, as one number.
#ifndef LEMMA_GRAPH_GRAD_LOSS_H_
#define LEMMA_GRAPH_GRAD_LOSS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "graph/ops/formula.h"

namespace lemma {

enum class LossKind {
  // -mean over n, i… of log_softmax(x)[n, labels[n,i…], i…], for class_axis = 1. Labels are i64
  // class numbers, from 0 on. The mean leaves out labels equal to ignore_index; it is NaN if no
  // label remains. A label outside the range of class numbers adds 0 to the sum, but is counted.
  kSoftmaxCrossEntropy,
  kMeanSquaredError,          // mean((x - labels)²)
  kBinaryCrossEntropyLogits,  // mean(softplus(x) - x * labels), labels in [0, 1], of x's type
};

struct Loss {
  LossKind kind = LossKind::kSoftmaxCrossEntropy;
  // The fields below are only for softmax cross entropy.
  int64_t class_axis = 1;               // a negative axis counts from the end
  std::optional<int64_t> ignore_index;  // nullopt: no label is left out
};

// The type of the labels for an output of type `x`. For softmax cross entropy,
// it is i64 with the shape of `x` without the class axis; otherwise it is `x`
// itself. InvalidArgument if the element type of `x` is not a float type, if
// `x` has no elements, or if `x` lacks the class axis of softmax cross entropy.
absl::StatusOr<TensorType> LabelsType(const Loss& loss, const TensorType& x);

// The loss, a scalar of x's element type. `labels` have the type LabelsType(loss, x.type()). If
// f.status() is an error, the result is meaningless.
Value LossOf(Formula& f, const Loss& loss, const Value& x, const Value& labels);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_LOSS_H_
