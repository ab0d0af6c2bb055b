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
#include "rewrite/rules/certificate.h"
#include "rewrite/rules/substitution.h"
#include "runtime/executor.h"

namespace lemma::api {

// A loop of a graph whose body was optimized.
struct OptimizedBody {
  CertificateBody record;                         // record.position: in Contender::before_bodies
  std::string label;                              // of the loop's first result; "" if it has none
  int operators_before = 0, operators_after = 0;  // of the body
  double ms_before = 0, ms_after = 0;             // predicted times of one iteration
  FloatContract contract = FloatContract::kBitExact;
  std::vector<optimizer::RewriteStep> rewrites;  // of the body
};

// A graph that might become the result; its constants are folded.
struct Contender {
  Graph graph;
  std::vector<optimizer::RewriteStep> rewrites;  // from the input to `graph`, before folding
  int recomputed = 0;                            // operators of `graph` that are copies of others
  int offloaded = 0;                             // values of `graph` that are kept in host memory
  // Whether the plans of the input and of `graph` show that `graph` cannot be slower
  // (optimizer/cost/plan_comparison.h).
  bool is_certain = false;
  // Whether folding computed a constant that is outside the range of its type (FoldConstants).
  bool out_of_range = false;
  // The loops whose bodies `graph` has optimized, and the graph with the bodies as they were. The
  // graph is set only if there are such loops.
  std::vector<OptimizedBody> bodies = {};
  std::optional<Graph> before_bodies = {};
};

struct AcceptanceOptions {
  // As OptimizeOptions::numerics. With kBitExact, the outputs must be equal bit by bit.
  FloatContract numerics = FloatContract::kReassociates;
  int threads = 1;
  // Timed runs of the input and of the contender, in turn; up to four times as many if the answer
  // is still open. 0: nothing is timed, and a contender with equal outputs counts as faster.
  int runs = 15;
  // Whether both graphs are compiled anew for each third of the runs. The time of a graph depends
  // on where its memory lies, by up to 2 % on the CPU.
  bool renews_within_batch = false;
  // Whether unproved rules were used. Then a contender whose outputs cannot be compared is
  // rejected.
  bool unproved = false;
  // Set for the back end of another program (IsTarget in api/execution/backends.h), which may
  // execute operators that have no definition in Lemma. Then nothing is accepted without execution:
  // an input that cannot be executed is an error, and a contender that cannot be executed is
  // rejected. If the input has operators without a definition, the executions of both graphs are
  // compared. The times of at least three batches of runs must show a gain; those that begin after
  // the deadline have three runs each. Both graphs are compiled anew for each batch. No contender
  // counts as certain.
  bool only_executed = false;
  // The back end whose plans give the memory use, if the model is optimized for a device that is
  // not present. nullptr: the memory use is that of the executing back end. Must outlive the call.
  Backend* planner = nullptr;
  // The quantity to reduce. kPareto: the product of time and memory or, with a limit, time.
  optimizer::Objective objective = {};
  // No further batch of runs begins after the deadline, but each contender gets at least two
  // seconds, at least one batch and, with only_executed, three. A comparison that is open then
  // counts as "not better".
  Deadline deadline;
};

struct Acceptance {
  Graph graph;
  std::vector<optimizer::RewriteStep>
      rewrites;        // from the input to `graph`; empty if the input is kept
  int recomputed = 0;  // operators of `graph` that are copies of others
  int offloaded = 0;   // values of `graph` that are kept in host memory
  // As in the contender that became the result.
  std::vector<OptimizedBody> bodies;
  std::optional<Graph> before_bodies;
  bool measured = false;         // whether the input was executed, and contenders if there were any
  std::string why_not_measured;  // why nothing was executed; "" if `measured`
  // The time of the last contender with right outputs, accepted or not, divided by the input's
  // time. Absent if there was no such contender, or if it was not timed.
  std::optional<RatioInterval> found;
  int runs = 0;  // timed runs of each graph, from which `found` is computed
  // The planned memory of the last contender with right outputs, in bytes. Absent if there was
  // none.
  std::optional<int64_t> found_bytes;
  // Median times of the input and of `graph` in milliseconds. If the input is kept, both are the
  // input's time; if nothing was timed, both are 0. With one thread they are processor times, so
  // other work on the machine counts less.
  double ms_before = 0, ms_after = 0;
  double ratio = 1;  // the median of the paired ratios of these times; 1 if the input is kept
  MemoryUse memory_before, memory_after;
  // Set if the input and all contenders need more memory than the limit: the least amount of
  // memory, in bytes, that one of them needs. Then there is no result, and `graph` is the input.
  std::optional<int64_t> least_bytes;
  bool has_definitions = true;  // whether every operator of the input has a definition
  // The difference between the outputs of `graph` and the outputs that the input's definitions give
  // or, without definitions, the outputs of the input's execution.
  OutputDifference difference;
  // The reason for the last rejection before timing; for example, a contender's
  // outputs are wrong, it overflows f16 earlier than the input, or it cannot be
  // executed. Optimize also stores here why a contender cannot be written. ""
  // if there was no rejection.
  std::string rejected;
  // Times of kernels inside runs of the input and of each contender that was not better, in the
  // order of the attempts; for calibration.
  optimizer::KernelTimes in_graph;

  bool kept_input() const {
    return rewrites.empty() && recomputed == 0 && offloaded == 0 && bodies.empty();
  }
};

// The rewrites of the graph, then those of the bodies of its loops.
std::vector<optimizer::RewriteStep> AllRewrites(const Acceptance& accepted);

// Returns the first contender that is better than the input; if there is none, the input. "Better"
// means, by objective:
//   time: faster with 95 % confidence, and by at least 0.5 % in the median. A certain contender is
//     better unless it is slower by 1 % with the same confidence;
//   memory: less planned memory, or the same memory and faster as above;
//   product: a product of time and memory (optimizer/cost/objective.h) that is less by at least
//     1 %, with the same confidence in the time.
//
// A contender with wrong outputs is rejected, even if its rules are proved. Its outputs must agree
// with the outputs of the input's execution and with the outputs by the input's definitions
// (api/execution/definitions.h), apart from discontinuities (api/execution/discontinuity.h).
// Internal if the input's own execution disagrees with its definitions: then no comparison can be
// trusted. If the input chooses at run time which operators are executed, the outputs are also
// compared on three sets of random inputs. Unless `numerics` is kRealOnly, a contender is rejected
// if out_of_range is true, if it has an infinite or NaN constant and the input has none, or if it
// overflows f16 on inputs on which the input does not (api/optimization/headroom.h).
//
// With a memory limit, a graph above the limit is not accepted; if the input is above the limit,
// any contender within the limit is better. If the back end cannot execute the input, the first
// contender is accepted without execution (AcceptUnseen), unless options.only_executed is true;
// FailedPrecondition if there is a memory limit, since the limit cannot be checked.
absl::StatusOr<Acceptance> Accept(Backend* backend, const Graph& input,
                                  std::vector<Contender> contenders,
                                  absl::Span<const Tensor> inputs,
                                  const AcceptanceOptions& options);

// Executes nothing: accepts the first contender, or the input if there is none. Contenders with
// infinite, NaN or out-of-range constants are rejected as in Accept. `why` becomes
// why_not_measured.
Acceptance AcceptUnseen(const Graph& input, std::vector<Contender> contenders,
                        FloatContract numerics, const std::string& why);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_ACCEPTANCE_H_
