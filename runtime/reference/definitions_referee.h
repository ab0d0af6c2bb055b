// Compares an execution of a graph with the reference back end, which evaluates the definitions of
// the operators and rounds each result to its type. Distinguishes faults of the execution from
// rounding errors that the graph amplifies.
#ifndef LEMMA_RUNTIME_REFERENCE_DEFINITIONS_REFEREE_H_
#define LEMMA_RUNTIME_REFERENCE_DEFINITIONS_REFEREE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma {

// Judges executions of one graph on given inputs.
class DefinitionsReferee {
 public:
  using Outputs = absl::StatusOr<std::vector<Tensor>>;
  // Runs the execution under test on other inputs of the same types.
  using Execution = std::function<Outputs(const std::vector<Tensor>& inputs)>;

  // Evaluates the definitions on `inputs`, which are in the graph's order.
  DefinitionsReferee(Graph graph, std::vector<Tensor> inputs);

  // The outputs that the definitions give, or the error of their execution. The functions below may
  // be called only if expected() is OK.
  const Outputs& expected() const { return expected_; }
  // Whether an expected output has a NaN.
  bool ExpectsNaN() const;

  // `actual` are the graph's outputs as `run` computed them from the constructor's inputs. Returns
  // "" if they agree with the definitions; otherwise a message that says which output differs and
  // how far. A difference beyond the tolerance of runtime/tolerance.h is excused in four cases:
  //   * The output is sensitive to rounding: it changes by at least a quarter of the difference if
  //     each operator's operands and results are disturbed at random within the tolerance.
  //   * `run` and the definitions agree on some nearby inputs. Then a value crossed a discontinuity
  //     by rounding.
  //   * All elements that are finite on both sides agree, and a sum or a product may overflow
  //     (runtime/overflow.h).
  //   * The definitions give the same output if they are computed in float instead of double. In
  //     float, the square of a large number, such as in a variance, is infinite.
  // If `excused` is given and an output was excused, *excused becomes true; otherwise *excused
  // stays as it is.
  std::string FaultOf(const std::vector<Tensor>& actual, const Execution& run,
                      bool* excused = nullptr) const;
  // The same for one output: `output` is its number.
  std::string FaultOfOutput(size_t output, const std::vector<Tensor>& actual, const Execution& run,
                            bool* excused = nullptr) const;

 private:
  double Distance(const std::vector<Tensor>& actual, size_t output) const;
  bool IsSensitive(const std::vector<Tensor>& actual, size_t output) const;
  bool AgreesNearby(const Execution& run, size_t output) const;
  bool Overflows(const std::vector<Tensor>& actual, size_t output) const;
  bool AgreesInFloat(const std::vector<Tensor>& actual, size_t output) const;
  std::vector<Tensor> Disturbed(uint64_t seed) const;

  const Graph graph_;
  const std::vector<Tensor> inputs_;
  std::vector<double> tolerances_;
  std::unique_ptr<Executable> definitions_;
  Outputs expected_;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_DEFINITIONS_REFEREE_H_
