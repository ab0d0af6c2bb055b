// Recomputes the constants that constant folding must have written into an optimized graph.
#ifndef LEMMA_VERIFIER_CERTIFICATE_FOLD_H_
#define LEMMA_VERIFIER_CERTIFICATE_FOLD_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::certificate {

// Computes results of operators that depend only on constants and on weights with known elements,
// by the operators' definitions. Floats are computed in double, and intermediate results are not
// rounded. An operator on integers alone is computed exactly, unless its definition uses real
// functions. Remembers intermediate results by node, so nodes must outlive the object. Not
// thread-safe.
class Folder {
 public:
  // `threads`: the number of threads that evaluate an operator.
  explicit Folder(int threads) : threads_(threads) {}

  // The value, rounded once to its type. FailedPrecondition if it is not the result of an operator,
  // or if it depends on an input, on a weight without known elements, or on an operator without a
  // definition. Other errors come from the evaluation.
  absl::StatusOr<Tensor> ValueOf(const Value& value);

 private:
  absl::Status Compute(const Node& node);

  const int threads_;
  absl::flat_hash_map<std::pair<const Node*, int>, Tensor> wide_;  // floats as f64
};

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_FOLD_H_
