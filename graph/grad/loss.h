// Losses: the distance of a model's output from its labels, as one number.
#ifndef LEMMA_GRAPH_GRAD_LOSS_H_
#define LEMMA_GRAPH_GRAD_LOSS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "graph/ops/formula.h"

namespace lemma {

enum class LossKind {
  // -mean over n, i… of log_softmax(x)[n, labels[n,i…], i…]. Labels are i64 class numbers. Labels
  // equal to ignore_index count neither in the sum nor in the mean.
  kSoftmaxCrossEntropy,
  kMeanSquaredError,          // mean((x - labels)²)
  kBinaryCrossEntropyLogits,  // mean(softplus(x) - x * labels), labels in [0, 1]
};

struct Loss {
  LossKind kind = LossKind::kSoftmaxCrossEntropy;
  int64_t class_axis = 1;  // for softmax cross entropy; a negative one counts from the end
  std::optional<int64_t> ignore_index;
};

// The type of the labels for an output `x`. InvalidArgument if the loss does not apply to it.
absl::StatusOr<TensorType> LabelsType(const Loss& loss, const TensorType& x);

// The loss, a scalar of x's element type.
Value LossOf(Formula& f, const Loss& loss, const Value& x, const Value& labels);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_LOSS_H_
