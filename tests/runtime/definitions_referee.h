// Holds an execution against the definitions of a graph's operators, each result rounded to its
// type, and tells a fault from rounding where rounding is enlarged.
#ifndef LEMMA_TESTS_RUNTIME_DEFINITIONS_REFEREE_H_
#define LEMMA_TESTS_RUNTIME_DEFINITIONS_REFEREE_H_

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

  // What the definitions give on the inputs.
  const Outputs& expected() const { return expected_; }
  bool ExpectsNaN() const;

  // "" if `actual`, what `run` gave on the inputs, is what the definitions give; else which output
  // is off and how far. Where it is further off than runtime/tolerance.h allows it is excused if
  // the definitions move as far when each operator's operands and result are disturbed by what it
  // may be off, if both agree on inputs nearby (then rounding crossed a jump), or if finite values
  // agree and sums may overflow (runtime/overflow.h). *excused, if given: whether it was.
  std::string Off(const std::vector<Tensor>& actual, const Execution& run,
                  bool* excused = nullptr) const;
  // The same of one output.
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
  const std::vector<double> tolerances_;
  std::unique_ptr<Executable> definitions_;
  Outputs expected_;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_DEFINITIONS_REFEREE_H_
