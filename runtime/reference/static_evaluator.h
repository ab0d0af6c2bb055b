// What depends on weights and constants alone, computed once, by definition.
#ifndef LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_
#define LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma {

class StaticEvaluator {
 public:
  explicit StaticEvaluator(int threads) : threads_(threads) {}

  // FailedPrecondition, named, if a weight that `v` depends on has no values. `v` must not depend
  // on inputs.
  absl::StatusOr<Tensor> Evaluate(const Value& v);

 private:
  int threads_;
  absl::flat_hash_map<Value, Tensor> done_;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_
