// Executes a model by its operators' definitions, and judges other executions by these results.
#ifndef LEMMA_API_EXECUTION_DEFINITIONS_H_
#define LEMMA_API_EXECUTION_DEFINITIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/execution/compare.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma::api {

// The execution of one graph by its operators' definitions on one set of inputs. Each operator's
// result is rounded to its type (BetweenOperators::kRounded in runtime/reference/reference.h).
class Definitions {
 public:
  // Unimplemented if an operator has no definition and cannot be imported at run time either
  // (runtime/staged/staged.h). The inputs must outlive the object.
  static absl::StatusOr<Definitions> Run(const Graph& graph, absl::Span<const Tensor> inputs,
                                         int threads);

  struct Verdict {
    bool agrees = true;  // the difference is within the tolerance, or excused
    OutputDifference difference;
  };
  // Whether `run` computes the outputs that the definitions give. `run`
  // executes this graph (`is_graph` is true) or a graph that should equal it
  // (false); `outputs` are its outputs on the inputs of Run. Let the outputs in
  // double be the outputs that the definitions give if values between operators
  // are not rounded, but stay in double. An output that differs by more than
  // rounding explains (runtime/tolerance.h) is excused, with the reason in
  // difference.excuse, if
  //   - rounding between operators explains the difference: outputs() differs
  //     from the outputs in double by more than the tolerance, and `run`
  //     differs from them at most four times as much; or
  //   - small changes of the inputs explain the difference: if each float input
  //     changes by up to 2^-17 of itself (as much as rounding may change a sum
  //     of 128 terms), the outputs that the definitions give change by more
  //     than the tolerance. `run` must differ at most four times as much as
  //     they change, in at most four times as many elements; or
  //   - rounding moved a value across a discontinuity, such as the discontinuity of relu's gradient
  //     at 0, and `run` and the definitions agree on some inputs near the inputs of Run; or
  //   - `run` executes the graph itself, all finite values agree, and the order of a sum decides
  //     whether the sum overflows (runtime/overflow.h).
  // If an output differs, `run` is executed up to six more times, the definitions up to twelve.
  absl::StatusOr<Verdict> Judge(Executable* run, absl::Span<const Tensor> outputs, bool is_graph);

  // The outputs that the definitions give, in the graph's order.
  const std::vector<Tensor>& outputs() const { return outputs_; }

 private:
  Definitions(const Graph& graph, absl::Span<const Tensor> inputs, int threads)
      : graph_(graph), inputs_(inputs), threads_(threads) {}

  // Whether changes of the inputs in their last bits change the outputs that
  // the definitions give as much as `outputs` differ from them.
  absl::StatusOr<bool> MovesAsFar(absl::Span<const Tensor> outputs,
                                  absl::Span<const double> tolerances);
  // The reason why the difference is excused; "" if it is not.
  absl::StatusOr<std::string> Excuse(Executable* run, absl::Span<const Tensor> outputs,
                                     bool is_graph);

  Graph graph_;
  absl::Span<const Tensor> inputs_;
  int threads_;
  std::unique_ptr<Executable> executable_;
  std::vector<Tensor> outputs_;
};

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_DEFINITIONS_H_
