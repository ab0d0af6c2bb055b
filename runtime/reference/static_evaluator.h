// Computes values that depend only on weights and constants. Each is computed once, by the
// definitions of its operators.
#ifndef LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_
#define LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma {

// Not thread-safe.
class StaticEvaluator {
 public:
  // `threads` is the number of threads that evaluate one operator.
  explicit StaticEvaluator(int threads) : threads_(threads) {}

  // The tensor of `v`, which must not depend on inputs. Keeps the tensor, and the intermediate
  // results from which it is computed, for later calls. FailedPrecondition, with the weight's name,
  // if `v` depends on a weight without values.
  absl::StatusOr<Tensor> Evaluate(const Value& v);
  // Drops the kept tensor of `v`; its memory is freed when no other Tensor shares it. A later
  // Evaluate computes the value again.
  void Forget(const Value& v) { done_.erase(v); }

 private:
  int threads_;
  absl::flat_hash_map<Value, Tensor> done_;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_
