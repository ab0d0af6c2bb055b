// Definitions at concrete sizes, element by element: plain and slow, and independent of the
// executors. Internal to the prover.
#ifndef LEMMA_VERIFIER_CONCRETE_H_
#define LEMMA_VERIFIER_CONCRETE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/expr/field.h"
#include "graph/expr/tensor_expr.h"

namespace lemma::verify {

double ApplyReal(ScalarFn fn, double a, double b, double c);

template <class Number>
struct Values {
  std::vector<int64_t> dims;
  std::vector<Number> data;  // row-major
};

// Evaluates all outputs of a definition whose sizes are constants (Bind them). nullopt if a symbol
// remains, an index lies outside its tensor, or the work exceeds `max_steps`.
template <class Number>
std::optional<std::vector<Values<Number>>> EvaluateAll(const Definition& definition,
                                                       const std::vector<Values<Number>>& inputs,
                                                       const std::map<std::string, Number>& params,
                                                       int64_t max_steps);

extern template std::optional<std::vector<Values<double>>> EvaluateAll<double>(
    const Definition&, const std::vector<Values<double>>&, const std::map<std::string, double>&,
    int64_t);
extern template std::optional<std::vector<Values<Field>>> EvaluateAll<Field>(
    const Definition&, const std::vector<Values<Field>>&, const std::map<std::string, Field>&,
    int64_t);

}  // namespace lemma::verify

#endif  // LEMMA_VERIFIER_CONCRETE_H_
