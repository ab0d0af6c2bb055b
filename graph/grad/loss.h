// Losses: how far a model's output is from what was wanted, as one number.
#ifndef LEMMA_GRAPH_GRAD_LOSS_H_
#define LEMMA_GRAPH_GRAD_LOSS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "graph/ops/formula.h"

namespace lemma {

enum class LossKind {
  // -mean over n, i… of log_softmax(x)[n, labels[n,i…], i…]; labels are i64 class numbers, and
  // those
  // equal to ignore_index count neither in the sum nor in the mean.
  kSoftmaxCrossEntropy,
  kMeanSquaredError,          // mean((x - labels)²)
  kBinaryCrossEntropyLogits,  // mean(softplus(x) - x * labels), labels in [0, 1]
};

struct Loss {
  LossKind kind = LossKind::kSoftmaxCrossEntropy;
  int64_t class_axis = 1;  // of softmax cross entropy; a negative one counts from the end
  std::optional<int64_t> ignore_index;
};

// The type of the labels for an output `x`. InvalidArgument if the loss does not apply to it.
absl::StatusOr<TensorType> LabelsType(const Loss& loss, const TensorType& x);

// A scalar of x's element type.
Value LossOf(Formula& f, const Loss& loss, const Value& x, const Value& labels);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_LOSS_H_
