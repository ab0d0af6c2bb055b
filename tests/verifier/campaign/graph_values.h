// What graphs compute, in several kinds of numbers. Nothing here is the prover's.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_GRAPH_VALUES_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_GRAPH_VALUES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/expr/field.h"
#include "graph/graph.h"
#include "kernels/evaluate/evaluate.h"

namespace lemma {

// A graph whose every operator has been made ready by kernels/evaluate/evaluate.h.
class GraphRunner {
 public:
  static absl::StatusOr<GraphRunner> Of(const Graph& graph);

  // As real numbers: floats are doubles and never rounded to their types, integers are stored as
  // what they are. OutOfRange if a position that a tensor holds lies outside. *largest: of all
  // finite numbers on the way.
  absl::StatusOr<std::vector<std::vector<double>>> RunReal(const std::vector<Tensor>& inputs,
                                                           double* largest) const;
  // As typed: each operator's results rounded to their types.
  absl::StatusOr<std::vector<Tensor>> RunTyped(const std::vector<Tensor>& inputs) const;
  // The inputs' elements in the field. Only for graphs that are rational.
  absl::StatusOr<std::vector<std::vector<Field>>> RunField(
      const std::vector<std::vector<Field>>& inputs) const;

  // Only floats, sums, products, quotients and moves: then unequal in the field is unequal.
  bool rational() const { return rational_; }
  // Only floats, sums, products and moves: exact in double where numbers are short.
  bool polynomial() const { return polynomial_; }
  // Minima, maxima and comparisons, of which 0 and -0 may be either.
  bool compares() const { return compares_; }
  // Sums or products of many, in an order that the evaluator chooses.
  bool adds_up() const { return adds_up_; }
  // All floats are f64, so that constants are what they are written as.
  bool wide() const { return wide_; }
  // Jumps (roundings, comparisons, integers) beside functions like tanh and exp: rounding alone may
  // put tanh(-18) + 1 or log(exp(x)) - x on the other side of a jump, at nearby inputs too.
  bool jumps_where_rounded() const { return (jumps_ || integers_) && saturates_; }
  // f16 or bf16 occur.
  bool narrow() const { return narrow_; }
  // Integers or truth values occur.
  bool integers() const { return integers_; }
  double work() const { return work_; }
  const Graph& graph() const { return graph_; }

 private:
  struct Operator {
    NodePtr node;
    LoopProgram program;
    bool exact = false;  // in int64_t
  };
  explicit GraphRunner(Graph graph) : graph_(std::move(graph)) {}
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& inputs, bool rounded,
                                          double* largest) const;

  Graph graph_;
  std::vector<Operator> operators_;
  bool rational_ = true, polynomial_ = true, compares_ = false, adds_up_ = false, wide_ = true,
       narrow_ = false, jumps_ = false, saturates_ = false, integers_ = false;
  double work_ = 0;
};

// RunReal once more by tests/kernels/evaluate/naive_evaluator.h, which shares no code with the
// other. Only where no integers occur.
absl::StatusOr<std::vector<std::vector<double>>> RunNaively(const Graph& graph,
                                                            const std::vector<Tensor>& inputs);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_GRAPH_VALUES_H_
