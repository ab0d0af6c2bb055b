// Evaluates definitions whose sizes are numbers, with kernels/evaluate/evaluate.h. Internal to the
// verifier.
#ifndef LEMMA_VERIFIER_REFUTATION_CONCRETE_H_
#define LEMMA_VERIFIER_REFUTATION_CONCRETE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/expr/field.h"
#include "graph/expr/tensor_expr.h"
#include "kernels/evaluate/evaluate.h"

namespace lemma::prover {

// The elements of one tensor.
template <class Number>
struct Values {
  std::vector<int64_t> dims;
  std::vector<Number> data;  // row-major
};

// A definition with constant sizes (see Bind in graph/expr/compose.h), compiled. Its real
// parameters may be open: Run takes their values.
class Concrete {
 public:
  // nullopt if a symbol remains, if a size is negative, or if the operations and the elements of
  // one run are more than `max_work` together.
  static std::optional<Concrete> Of(const Definition& definition, double max_work);

  // Shapes of inputs and outputs.
  const std::vector<int64_t>& input_dims(size_t i) const { return program_.inputs()[i].dims; }
  const std::vector<int64_t>& output_dims(size_t i) const { return program_.outputs()[i].dims; }
  size_t num_outputs() const { return program_.outputs().size(); }
  double work() const { return work_; }  // operations and elements of one run, added up

  // The elements of all outputs, in row-major order, not rounded to their types. `inputs`: the
  // elements of each input, likewise. `params`: the values of parameters by name. nullopt if an
  // element that is used as an index is out of range, or if a parameter has no value. Number is
  // double or Field.
  template <class Number>
  std::optional<std::vector<std::vector<Number>>> Run(
      const std::vector<std::vector<Number>>& inputs,
      const std::map<std::string, Number>& params) const;

 private:
  Concrete(LoopProgram program, std::vector<std::string> params, double work)
      : program_(std::move(program)), params_(std::move(params)), work_(work) {}

  LoopProgram program_;  // the parameters are its last inputs
  std::vector<std::string> params_;
  double work_;
};

// Concrete::Of and Run in one call, with shapes. nullopt if either of them gives nullopt.
template <class Number>
std::optional<std::vector<Values<Number>>> EvaluateAll(const Definition& definition,
                                                       const std::vector<Values<Number>>& inputs,
                                                       const std::map<std::string, Number>& params,
                                                       int64_t max_work);

extern template std::optional<std::vector<Values<Field>>> EvaluateAll<Field>(
    const Definition&, const std::vector<Values<Field>>&, const std::map<std::string, Field>&,
    int64_t);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_CONCRETE_H_
