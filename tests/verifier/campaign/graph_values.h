// Evaluates graphs in several kinds of numbers, without any code of the prover. The judge
// (judge.h) of the campaign uses it.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_GRAPH_VALUES_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_GRAPH_VALUES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/expr/field.h"
#include "graph/graph.h"
#include "kernels/evaluate/evaluate.h"

namespace lemma {

// Facts about the elements of all operands of operators, and of the graph's outputs, in one or more
// runs.
struct Seen {
  double largest = 1;      // the largest finite magnitude, at least 1
  bool all_finite = true;  // no element was infinite or NaN
};

// A graph whose operators are compiled for the evaluator of kernels/evaluate/evaluate.h.
class GraphRunner {
 public:
  // Returns an error if an operator has no definition, or if its definition cannot be compiled.
  static absl::StatusOr<GraphRunner> Of(const Graph& graph);

  // Each function below takes the values of the graph's inputs, in order, and returns the values of
  // its outputs. OutOfRange if an element that is used as an index lies outside the indexed
  // dimension.

  // Computes with doubles in place of real numbers: floats are not rounded to their types, but
  // integers are stored in their types. Unless `seen` is null, adds the facts of this run to *seen.
  absl::StatusOr<std::vector<std::vector<double>>> RunReal(const std::vector<Tensor>& inputs,
                                                           Seen* seen) const;
  // As RunReal, but rounds the results of each operator to their types.
  absl::StatusOr<std::vector<Tensor>> RunTyped(const std::vector<Tensor>& inputs) const;
  // Computes in the field (graph/expr/field.h). Functions that are not rational are pseudo-random
  // there: results that differ say something about real numbers only if rational() is true.
  absl::StatusOr<std::vector<std::vector<Field>>> RunField(
      const std::vector<std::vector<Field>>& inputs) const;

  // Whether the graph has only floats, sums, products, quotients and moves. If two such graphs have
  // different values in the field, they also differ as real functions.
  bool rational() const { return rational_; }
  // Whether the graph has only floats, sums, products and moves. The values of such a graph in
  // double are exact if the numbers have few digits.
  bool polynomial() const { return polynomial_; }
  // Whether the graph has min, max, sign or abs. Where their result is zero, the evaluator chooses
  // between 0 and -0.
  bool leaves_zero_sign_open() const { return leaves_zero_sign_open_; }
  // Whether the graph has reductions by sum or product. The evaluator chooses the order of their
  // terms.
  bool adds_up() const { return adds_up_; }
  // Whether all floats of the graph are f64. Then constants keep the values that they are written
  // with.
  bool all_f64() const { return all_f64_; }
  // Whether the graph has roundings or comparisons.
  bool discontinuous() const { return discontinuous_; }
  // Whether the graph has quotients.
  bool divides() const { return divides_; }
  // Whether the graph has both discontinuities (roundings, comparisons, integers) and functions
  // like tanh and exp. In such a graph, rounding errors alone may put a value such as
  // tanh(-18) + 1 or log(exp(x)) - x on the other side of a discontinuity, at nearby inputs too.
  bool discontinuous_where_rounded() const { return (discontinuous_ || integers_) && saturates_; }
  // Whether the graph has f16 or bf16.
  bool has_16_bit_floats() const { return has_16_bit_floats_; }
  // Whether the graph has integers or truth values.
  bool integers() const { return integers_; }

  // The number of scalar operations in one run plus the number of elements of all results.
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
  bool rational_ = true, polynomial_ = true, leaves_zero_sign_open_ = false, adds_up_ = false,
       all_f64_ = true, has_16_bit_floats_ = false, discontinuous_ = false, saturates_ = false,
       integers_ = false, divides_ = false;
  double work_ = 0;
};

// As GraphRunner::RunReal, but evaluates with tests/kernels/evaluate/naive_evaluator.h, which
// shares no code with the evaluator of GraphRunner. Only for graphs without integers. Returns an
// error if an operator has no definition.
absl::StatusOr<std::vector<std::vector<double>>> RunNaively(const Graph& graph,
                                                            const std::vector<Tensor>& inputs);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_GRAPH_VALUES_H_
