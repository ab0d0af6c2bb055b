// Recomputes the constants that constant folding must give.
#ifndef LEMMA_VERIFIER_CERTIFICATE_FOLD_H_
#define LEMMA_VERIFIER_CERTIFICATE_FOLD_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::certificate {

// Computes values that depend only on constants and on weights with known elements, by the
// operators' definitions: in double without rounding intermediate results, and exactly if
// everything is an integer. Remembers intermediate results. Not thread-safe.
class Folder {
 public:
  explicit Folder(int threads) : threads_(threads) {}

  // The value, rounded once to its type. FailedPrecondition if it depends on anything else.
  absl::StatusOr<Tensor> ValueOf(const Value& value);

 private:
  absl::Status Compute(const Node& node);

  const int threads_;
  absl::flat_hash_map<std::pair<const Node*, int>, Tensor> wide_;  // floats as f64
};

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_FOLD_H_
