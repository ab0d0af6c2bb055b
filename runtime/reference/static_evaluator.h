// Computes values that depend only on weights and constants, once, by their definitions.
#ifndef LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_
#define LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma {

class StaticEvaluator {
 public:
  explicit StaticEvaluator(int threads) : threads_(threads) {}

  // The value of `v`, which must not depend on inputs. Keeps it, and the results that it depends
  // on, for later calls. FailedPrecondition, with the weight's name, if it depends on a weight
  // without values.
  absl::StatusOr<Tensor> Evaluate(const Value& v);
  // Drops the kept value of `v`; its memory is freed when no other handle exists. A later Evaluate
  // computes the value again.
  void Forget(const Value& v) { done_.erase(v); }

 private:
  int threads_;
  absl::flat_hash_map<Value, Tensor> done_;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_
