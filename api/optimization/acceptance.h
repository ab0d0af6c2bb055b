// Whether what a search found is better than its input when both are executed.
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

// A graph that might be the result, constants folded.
struct Contender {
  Graph graph;
  std::vector<optimizer::RewriteStep> rewrites;  // from the input
  int recomputed = 0;                            // operators that it computes again to save memory
  int offloaded = 0;                             // values that it keeps in the host's memory
};

struct AcceptanceOptions {
  // kBitExact: not a bit of the outputs may differ.
  FloatContract numerics = FloatContract::kReassociates;
  int threads = 1;
  // Alternating, of both graphs; up to four times as many where they leave it open. 0: nothing is
  // timed, and the first contender that computes the same is the result.
  int runs = 15;
  // Rules that are not proved were used: what cannot be compared is not accepted then.
  bool unproved = false;
  // Whose plans tell what memory a graph is executed in, if that is another back end: of a device
  // that is not here.
  Backend* planner = nullptr;
  // What has to become less; kPareto: the product or, with a limit, time.
  optimizer::Objective objective = {};
  // Once it has passed, no batch of runs begins two seconds after the first: what is open then
  // stays open.
  Deadline deadline;
};

struct Acceptance {
  Graph graph;
  std::vector<optimizer::RewriteStep>
      rewrites;           // from the input to `graph`; empty: the input is kept
  int recomputed = 0;     // operators of `graph` that are copies of others
  int offloaded = 0;      // values of `graph` that are kept in the host's memory
  bool measured = false;  // false: the input cannot be run here
  // Time of what was found last, kept or not, to the input's; absent: nothing was timed.
  std::optional<RatioInterval> found;
  int runs = 0;                        // behind `found`
  std::optional<int64_t> found_bytes;  // planned for it; absent: nothing was found
  // Medians; of one graph if the input is kept. With one thread of its processor time, so that
  // other work on the machine counts for less.
  double ms_before = 0, ms_after = 0, ratio = 1;
  MemoryUse memory_before, memory_after;
  // The least that the input or a contender needs, if all of them need more than the limit: then
  // there is no result, and the input stands in for it.
  std::optional<int64_t> least_bytes;
  // Of `graph`'s outputs from what the definitions of the input's operators give.
  OutputDifference difference;
  // Why a contender was not even timed: it computes something else. Empty: none did.
  std::string rejected;
  // Times of kernels in runs of the input and of contenders that did not pay, in the order in which
  // these were tried; empty if there was none.
  optimizer::KernelTimes in_graph;

  bool kept_input() const { return rewrites.empty() && recomputed == 0 && offloaded == 0; }
};

// The first contender that is better than the input, else the input. What is better:
//   time: faster by at least one per cent with 95 % confidence. Less than that is within what the
//     same graph varies by from process to process, so that it could not be told from slower;
//   memory: executed in less memory or, in the same, faster;
//   product: less by at least one per cent, with that confidence in the time.
// A contender that computes something else than the input, as executed here or as its operators are
// defined (definitions.h; but see jump.h), is none, whatever was proved. Internal if the input's
// own execution is not what its operators' definitions give: then nothing here can be trusted with
// it. What is executed in more memory than the limit is no result; if the input is, any contender
// that keeps to it is better. An input that cannot be run here yields to the first contender
// untimed; FailedPrecondition if there is a limit, which nobody could vouch for. Contenders whose
// constants overflowed are none, unless `numerics` is kRealOnly.
absl::StatusOr<Acceptance> Accept(Backend* backend, const Graph& input,
                                  std::vector<Contender> contenders,
                                  absl::Span<const Tensor> inputs,
                                  const AcceptanceOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_ACCEPTANCE_H_
