// Evaluates graphs in several kinds of numbers, without any code of the prover.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_GRAPH_VALUES_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_GRAPH_VALUES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/expr/field.h"
#include "graph/graph.h"
#include "kernels/evaluate/evaluate.h"

namespace lemma {

// What a run has seen in operands and outputs.
struct Seen {
  double largest = 1;      // the largest finite magnitude, at least 1
  bool all_finite = true;  // no element was infinite or NaN
};

// A graph with each operator compiled for kernels/evaluate/evaluate.h.
class GraphRunner {
 public:
  // An error if an operator has no definition, or if its definition cannot be compiled.
  static absl::StatusOr<GraphRunner> Of(const Graph& graph);

  // The outputs as real numbers: floats are doubles and never rounded to their types, integers are
  // stored in their types. OutOfRange if an element that is used as an index lies outside the
  // indexed dimension. Unless `seen` is null, the run is added to *seen.
  absl::StatusOr<std::vector<std::vector<double>>> RunReal(const std::vector<Tensor>& inputs,
                                                           Seen* seen) const;
  // The outputs as typed: each operator's results are rounded to their types.
  absl::StatusOr<std::vector<Tensor>> RunTyped(const std::vector<Tensor>& inputs) const;
  // The outputs in the field, for inputs given in the field. Only for rational graphs.
  absl::StatusOr<std::vector<std::vector<Field>>> RunField(
      const std::vector<std::vector<Field>>& inputs) const;

  // Each of these functions says whether the graph has a property.
  // It has only floats, sums, products, quotients and moves. If two such graphs have different
  // values in the field, they also differ as real functions.
  bool rational() const { return rational_; }
  // It has only floats, sums, products and moves. It is exact in double if numbers are short.
  bool polynomial() const { return polynomial_; }
  // It has min, max, sign or abs, whose result may be 0 or -0, as the evaluator chooses.
  bool compares() const { return compares_; }
  // It has sums or products of many terms, in an order that the evaluator chooses.
  bool adds_up() const { return adds_up_; }
  // All its floats are f64, so constants keep the values that they are written with.
  bool wide() const { return wide_; }
  // It has discontinuities (roundings, comparisons, integers) and functions like tanh and exp:
  // rounding alone may put tanh(-18) + 1 or log(exp(x)) - x on the other side of a discontinuity,
  // also at nearby inputs.
  bool discontinuous_where_rounded() const { return (discontinuous_ || integers_) && saturates_; }
  // It has f16 or bf16.
  bool narrow() const { return narrow_; }
  // It has integers or truth values.
  bool integers() const { return integers_; }

  // The number of scalar operations and of elements of results in one run.
  double work() const { return work_; }
  const Graph& graph() const { return graph_; }

 private:
  struct Operator {
    NodePtr node;
    LoopProgram program;
    bool exact = false;  // computed in int64_t
  };
  explicit GraphRunner(Graph graph) : graph_(std::move(graph)) {}
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& inputs, bool rounded,
                                          Seen* seen) const;

  Graph graph_;
  std::vector<Operator> operators_;
  bool rational_ = true, polynomial_ = true, compares_ = false, adds_up_ = false, wide_ = true,
       narrow_ = false, discontinuous_ = false, saturates_ = false, integers_ = false;
  double work_ = 0;
};

// As RunReal, but with tests/kernels/evaluate/naive_evaluator.h, which shares no code with the
// evaluator of GraphRunner. Only for graphs without integers.
absl::StatusOr<std::vector<std::vector<double>>> RunNaively(const Graph& graph,
                                                            const std::vector<Tensor>& inputs);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_GRAPH_VALUES_H_
