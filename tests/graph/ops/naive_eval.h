// Definitions evaluated by walking their expressions: slow, obvious, and sharing no code with
// graph/expr/evaluate.h.
#ifndef LEMMA_TESTS_GRAPH_OPS_NAIVE_EVAL_H_
#define LEMMA_TESTS_GRAPH_OPS_NAIVE_EVAL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {

// All outputs in row-major order, computed in double and not rounded to their element types. All
// sizes must be constants. A read outside its tensor is an error.
absl::StatusOr<std::vector<std::vector<double>>> NaiveEvaluate(
    const Definition& definition, const std::vector<std::vector<double>>& inputs);

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_OPS_NAIVE_EVAL_H_
