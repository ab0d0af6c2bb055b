// Executes a model and the graphs that a search found, and decides whether one of them is accepted.
#ifndef LEMMA_API_OPTIMIZATION_ACCEPTANCE_H_
#define LEMMA_API_OPTIMIZATION_ACCEPTANCE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/execution/compare.h"
#include "api/execution/timing.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "optimizer/cost/objective.h"
#include "optimizer/search/search.h"
#include "rewrite/rules/substitution.h"
#include "runtime/executor.h"

namespace lemma::api {

// A graph that might become the result; its constants are folded.
struct Contender {
  Graph graph;
  std::vector<optimizer::RewriteStep> rewrites;  // from the input
  int recomputed = 0;                            // operators of `graph` that are copies of others
  int offloaded = 0;                             // values of `graph` that are kept in host memory
  // Whether it cannot be slower than the input, as the plans of both show
  // (optimizer/cost/plan_comparison.h).
  bool is_certain = false;
  // Whether folding took a new constant out of the range of its type (FoldConstants).
  bool out_of_range = false;
};

struct AcceptanceOptions {
  // kBitExact: the outputs must be equal bit by bit.
  FloatContract numerics = FloatContract::kReassociates;
  int threads = 1;
  // Timed runs of the input and of the contender, in turn; up to four times as many if the answer
  // is still open. 0: nothing is timed, and a contender with equal outputs counts as faster.
  int runs = 15;
  // Whether unproved rules were used. Then a contender whose outputs cannot be compared is
  // rejected.
  bool unproved = false;
  // For the back end of another program (IsTarget in api/execution/backends.h), which may execute
  // operators without a definition in Lemma. Nothing is accepted without execution: an input that
  // cannot be executed is an error, and a contender that cannot be executed is rejected. If the
  // input has operators without a definition, the executions of both graphs are compared. The times
  // of at least three batches of runs must show a gain, and both graphs are compiled anew for each
  // batch. No contender counts as certain.
  bool only_executed = false;
  // The back end whose plans give the memory use, if the model is optimized for a device that is
  // not present. nullptr: the executing back end gives it.
  Backend* planner = nullptr;
  // The quantity to reduce. kPareto: the product of time and memory or, with a limit, time.
  optimizer::Objective objective = {};
  // Timing stops here, but each contender gets at least two seconds. A comparison that is still
  // open then counts as "not better".
  Deadline deadline;
};

struct Acceptance {
  Graph graph;
  std::vector<optimizer::RewriteStep>
      rewrites;                  // from the input to `graph`; empty if the input is kept
  int recomputed = 0;            // operators of `graph` that are copies of others
  int offloaded = 0;             // values of `graph` that are kept in host memory
  bool measured = false;         // whether the input was executed, and contenders if there were any
  std::string why_not_measured;  // why nothing was executed; "" if `measured`
  // The time of the last contender, accepted or not, divided by the input's; absent if nothing was
  // timed.
  std::optional<RatioInterval> found;
  int runs = 0;                        // timed runs of each graph, from which `found` is computed
  std::optional<int64_t> found_bytes;  // planned memory of that contender; absent if there was none
  // Median times of the input and of `graph`; both are the input's if it is kept, and 0 if nothing
  // was timed. With one thread they are processor times, so other work on the machine counts less.
  double ms_before = 0, ms_after = 0;
  double ratio = 1;  // the median of the paired ratios of these times; 1 if the input is kept
  MemoryUse memory_before, memory_after;
  // If the input and all contenders need more memory than the limit: the least of these amounts.
  // Then there is no result, and `graph` is the input.
  std::optional<int64_t> least_bytes;
  bool has_definitions = true;  // whether every operator of the input has a definition
  // The difference between the outputs of `graph` and those that the input's definitions give or,
  // without definitions, those of the input's execution.
  OutputDifference difference;
  // The reason of the last rejection before timing: a contender's outputs are wrong, or it cannot
  // be executed. "" if there was none.
  std::string rejected;
  // Times of kernels inside runs of the input and of each contender that was not better, in the
  // order of the attempts; for calibration.
  optimizer::KernelTimes in_graph;

  bool kept_input() const { return rewrites.empty() && recomputed == 0 && offloaded == 0; }
};

// Returns the first contender that is better than the input, or else the input. "Better" means, by
// objective:
//   time: faster by at least 1 % with 95 % confidence, because times of one graph vary that much
//     from process to process. A certain contender is better unless it is slower by 1 % with that
//     confidence;
//   memory: less planned memory, or the same memory and faster;
//   product: less by at least 1 %, with the same confidence in the time.
//
// A contender with wrong outputs is rejected, even if its rules are proved. The outputs must agree
// with those of the input's execution and with those of the input's definitions
// (api/execution/definitions.h), apart from discontinuities (api/execution/discontinuity.h).
// Internal if the input's own execution disagrees with its definitions: then no comparison can be
// trusted. If a value of the input decides at run time which operators are executed, the outputs
// are also compared on three sets of random inputs. Unless `numerics` is kRealOnly, a contender is
// rejected if it is out_of_range, or if constants overflowed and the input has no infinite or NaN
// constant, or if it overflows f16 where the input does not (api/optimization/headroom.h).
//
// With a memory limit, a graph above the limit is not accepted; if the input is above it, any
// contender below it is better. If the back end cannot execute the input, the first contender is
// accepted without execution (AcceptUnseen), unless options.only_executed; FailedPrecondition if
// there is a limit, since it cannot be checked.
absl::StatusOr<Acceptance> Accept(Backend* backend, const Graph& input,
                                  std::vector<Contender> contenders,
                                  absl::Span<const Tensor> inputs,
                                  const AcceptanceOptions& options);

// Executes nothing: accepts the first contender, or the input if there is none. A contender whose
// constants overflowed or are out of range is rejected, as in Accept. `why` becomes
// why_not_measured.
Acceptance AcceptUnseen(const Graph& input, std::vector<Contender> contenders,
                        FloatContract numerics, const std::string& why);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_ACCEPTANCE_H_
