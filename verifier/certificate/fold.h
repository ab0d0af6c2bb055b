// What constant folding has to have computed.
#ifndef LEMMA_VERIFIER_CERTIFICATE_FOLD_H_
#define LEMMA_VERIFIER_CERTIFICATE_FOLD_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::certificate {

// Computes values that depend on constants and on weights with values alone, by their definitions:
// in double, with intermediate results unrounded, and integers exactly where all is integral.
class Folder {
 public:
  explicit Folder(int threads) : threads_(threads) {}

  // Rounded once, to the value's type. FailedPrecondition if it depends on anything else.
  absl::StatusOr<Tensor> ValueOf(const Value& value);

 private:
  absl::Status Compute(const Node& node);

  const int threads_;
  absl::flat_hash_map<std::pair<const Node*, int>, Tensor> wide_;  // floats as f64
};

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_FOLD_H_
