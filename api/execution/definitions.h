// What the definitions of a model's operators give, as the referee of its executions.
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

// One graph executed by its definitions on one set of inputs, each operator's result rounded to its
// type (BetweenOperators::kRounded).
class Definitions {
 public:
  // Unimplemented if an operator has no definition. The inputs must outlive the object.
  static absl::StatusOr<Definitions> Run(const Graph& graph, absl::Span<const Tensor> inputs,
                                         int threads);

  struct Verdict {
    bool agrees = true;
    OutputDifference difference;
  };
  // Whether `run`, which executes this graph (`is_graph`) or one of the same meaning and gave
  // `outputs`, computes what the definitions say. An output that is further off than rounding
  // explains (runtime/tolerance.h) is excused, and difference.excuse says why, where
  //   the definitions' own output is off for the rounding between their operators, and `run`'s by
  //     at most four times as much;
  //   rounding took a value across a jump, such as that of relu's gradient at 0: then both agree on
  //     some inputs near these;
  //   `run` executes the graph itself, finite values agree, and sums in it may overflow or not by
  //     their order (runtime/overflow.h).
  // Executes them up to eight times more in these cases.
  absl::StatusOr<Verdict> Judge(Executable* run, absl::Span<const Tensor> outputs, bool is_graph);

  const std::vector<Tensor>& outputs() const { return outputs_; }

 private:
  Definitions(const Graph& graph, absl::Span<const Tensor> inputs, int threads)
      : graph_(graph), inputs_(inputs), threads_(threads) {}

  // "": there is none.
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
