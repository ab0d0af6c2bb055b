// Computes values that depend only on weights and constants. Each is computed once, by the
// definitions of its operators.
#ifndef LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_
#define LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// Not thread-safe.
class StaticEvaluator {
 public:
  // `threads` is the number of threads that evaluate one operator. `wanted`: the values for which
  // Evaluate will be called, each listed once. An intermediate result is then dropped once every
  // operator that reads it for a wanted value has been computed.
  explicit StaticEvaluator(int threads, absl::Span<const Value> wanted = {});

  // The tensor of `v`, which must not depend on inputs. Keeps the tensor for later calls. If
  // `wanted` was not given, also keeps all intermediate results. FailedPrecondition, with the
  // weight's name, if `v` depends on a weight without values.
  absl::StatusOr<Tensor> Evaluate(const Value& v);
  // Drops the kept tensor of `v`; with `wanted`, only if no wanted value needs it any more. The
  // memory is freed when no other Tensor shares it. A later Evaluate computes the value again.
  void Forget(const Value& v);

 private:
  // Reduces the number of uses of the node of `v` by one. After the last use, drops the results of
  // this node.
  void Release(const Value& v);

  int threads_;
  absl::flat_hash_map<Value, Tensor> done_;
  // By operator, uses of its results that are still to come; empty: all results are kept.
  absl::flat_hash_map<const Node*, int> uses_;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_STATIC_EVALUATOR_H_
