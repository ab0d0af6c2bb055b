// A slow recursive evaluator of definitions. Tests compare the fast evaluators with it. It shares
// no code with kernels/evaluate/evaluate.h.
#ifndef LEMMA_TESTS_KERNELS_EVALUATE_NAIVE_EVALUATOR_H_
#define LEMMA_TESTS_KERNELS_EVALUATE_NAIVE_EVALUATOR_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/expr/field.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {

// A tensor with elements of type T.
template <class T>
struct Dense {
  std::vector<int64_t> dims;
  std::vector<T> data;  // row-major
};

// All tensors of `definition`: the given inputs, then the tensors that the definition computes, in
// order. An error, such as a read outside a tensor, ends the program with a message.
template <class T>
std::vector<Dense<T>> AllTensorsNaively(const Definition& definition, std::vector<Dense<T>> inputs);

// All outputs, computed in double and not rounded to their element types. The elements of each
// input and output are in row-major order. All sizes must be constants. A read outside a tensor is
// an error.
absl::StatusOr<std::vector<std::vector<double>>> OutputsNaively(
    const Definition& definition, const std::vector<std::vector<double>>& inputs);

extern template std::vector<Dense<double>> AllTensorsNaively(const Definition&,
                                                             std::vector<Dense<double>>);
extern template std::vector<Dense<Field>> AllTensorsNaively(const Definition&,
                                                            std::vector<Dense<Field>>);
extern template std::vector<Dense<int64_t>> AllTensorsNaively(const Definition&,
                                                              std::vector<Dense<int64_t>>);

}  // namespace lemma

#endif  // LEMMA_TESTS_KERNELS_EVALUATE_NAIVE_EVALUATOR_H_
