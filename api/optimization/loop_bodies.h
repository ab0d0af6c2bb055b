// Optimizes the bodies of loops that execute a subgraph again and again: Loop and Scan with an
// unknown or large number of iterations. Internal to Optimize (api/optimization/optimize.cc).
#ifndef LEMMA_API_OPTIMIZATION_LOOP_BODIES_H_
#define LEMMA_API_OPTIMIZATION_LOOP_BODIES_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/optimization/acceptance.h"
#include "api/optimization/search_run.h"
#include "api/optimize.h"
#include "graph/graph.h"

namespace lemma::api {

// As Optimize. With options.replay, `steps` is the certificate whose steps are
// repeated; null: it is read from the file options.replay.
using OptimizeFunction = std::function<absl::StatusOr<OptimizeResult>(
    const Graph& input, absl::Span<const Tensor> inputs, const OptimizeOptions& options,
    const Certificate* steps)>;

// Optimizes the bodies of the loops of contender->graph as graphs of their own
// (graph/onnx/run_time/loop_body.h), by calls of `optimize`. If a body changes,
// puts the changed body into contender->graph, and sets contender->bodies and
// contender->before_bodies. A body is optimized with the options of the run
// except PET and explanations; if it is executed, then on random inputs. A body
// stays as it is if it cannot be imported for all iterations, if `optimize`
// keeps it or fails, or if the result cannot be written as a body. With
// options.replay, the bodies and their steps are those of the certificate, and
// such a failure is an error. Does nothing if the objective includes memory, if
// the options allow unproved rules, or if the search was interrupted. Cancelled
// if an interruption comes meanwhile.
absl::Status OptimizeBodies(const OptimizeFunction& optimize, SearchRun* run, Contender* contender);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_LOOP_BODIES_H_
