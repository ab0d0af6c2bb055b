// An engine that executes ONNX models by the definitions of their operators, except for faults that
// a test puts in. Tests of `lemma hunt` use it.
#ifndef LEMMA_TESTS_API_HUNTING_WRONG_ENGINE_H_
#define LEMMA_TESTS_API_HUNTING_WRONG_ENGINE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor.h"
#include "runtime/engine.h"

namespace lemma {

class WrongEngine : public Engine {
 public:
  // Called for each node that applies an operator, with the node, the values of its operands and
  // the level of optimization. Returns a wrong tensor for the first result of the node, or nullopt
  // to keep the right results. If it returns an error, Run returns this error.
  using Fault = std::function<absl::StatusOr<std::optional<Tensor>>(
      const Node&, const std::vector<Tensor>&, const std::string&)>;
  explicit WrongEngine(Fault fault) : fault_(std::move(fault)) {}

  std::string Name() const override { return "Wrong 1.0"; }
  const std::vector<std::string>& Levels() const override { return levels_; }  // none, all
  absl::StatusOr<std::vector<Tensor>> Run(const SerializedModel& model,
                                          absl::Span<const Tensor> inputs,
                                          const std::string& level) override;

 private:
  const Fault fault_;
  const std::vector<std::string> levels_ = {"none", "all"};
};

// The tensor with every element multiplied by `factor`.
Tensor Scaled(const Tensor& tensor, double factor);

}  // namespace lemma

#endif  // LEMMA_TESTS_API_HUNTING_WRONG_ENGINE_H_
