// Compares an execution with the definitions of a graph's operators, each result rounded to its
// type. Distinguishes faults from rounding errors that the graph amplifies.
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

class DefinitionsReferee {
 public:
  using Outputs = absl::StatusOr<std::vector<Tensor>>;
  using Execution = std::function<Outputs(const std::vector<Tensor>& inputs)>;

  DefinitionsReferee(Graph graph, std::vector<Tensor> inputs);

  // The outputs that the definitions give, or the error of their execution. The functions below may
  // be called only if this is no error.
  const Outputs& expected() const { return expected_; }
  bool ExpectsNaN() const;

  // Returns "" if `actual`, the graph's outputs as `run` computed them from the inputs, agrees with
  // the definitions; otherwise says which output differs and how far. A difference beyond
  // runtime/tolerance.h is excused in three cases: the outputs of the definitions change at least a
  // quarter as much when each operator's operands and results are disturbed within the tolerance;
  // `run` and the definitions agree on some nearby inputs (then rounding crossed a discontinuity);
  // or finite values agree and sums may overflow (runtime/overflow.h). *excused, if given, becomes
  // true if an output was excused, and otherwise stays as it is.
  std::string Off(const std::vector<Tensor>& actual, const Execution& run,
                  bool* excused = nullptr) const;
  // The same for one output: `output` is its number.
  std::string OffAt(size_t output, const std::vector<Tensor>& actual, const Execution& run,
                    bool* excused = nullptr) const;

 private:
  double Distance(const std::vector<Tensor>& actual, size_t output) const;
  bool IsSensitive(const std::vector<Tensor>& actual, size_t output) const;
  bool AgreesNearby(const Execution& run, size_t output) const;
  bool Overflows(const std::vector<Tensor>& actual, size_t output) const;
  std::vector<Tensor> Disturbed(uint64_t seed) const;

  const Graph graph_;
  const std::vector<Tensor> inputs_;
  std::vector<double> tolerances_;
  std::unique_ptr<Executable> definitions_;
  Outputs expected_;
};

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_DEFINITIONS_REFEREE_H_
