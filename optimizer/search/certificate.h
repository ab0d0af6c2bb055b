// Makes a certificate from the steps of a search, and replays the steps of a certificate.
// rewrite/rules/certificate.h defines certificates; verifier/certificate checks them.
#ifndef LEMMA_OPTIMIZER_SEARCH_CERTIFICATE_H_
#define LEMMA_OPTIMIZER_SEARCH_CERTIFICATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "optimizer/search/search.h"
#include "optimizer/search/step_places.h"
#include "rewrite/rules/certificate.h"
#include "rewrite/rules/substitution.h"

namespace lemma::optimizer {

// Tells where values of the result come from, so that they can be given names, and where steps took
// place.
struct Provenance {
  // By label: the name of the rule that last replaced the value with this label.
  std::map<std::string, std::string> made_by;
  // By Tensor::ContentHash of a folded constant: a name made from the names of the weights and
  // constants from which it was computed, such as "w+b/folded" or, for more than two,
  // "w+2_more/folded".
  std::map<uint64_t, std::string> folded;
  // Where each step took place: in the input, and in the output without barriers (graph/barrier.h).
  StepPlaces places;
};

// Makes the certificate of the steps, which lead from `input` to a graph. `output` must be this
// graph with its constants folded; it may have additional barriers and offloads (graph/barrier.h).
// In the returned certificate, the caller must set the hashes of the files, the fields that say how
// the input was read, the mutants and the bodies. Certify finds each step again by its rule and its
// place or, if this fails, by its rule and the resulting graph, and applies it; Internal if a step
// or its rule is not found. A step takes time linear in the graph. Cancelled if the deadline was
// interrupted; the deadline's time has no effect. Unless `provenance` is null, adds to the maps of
// *provenance and sets its places.
absl::StatusOr<Certificate> Certify(const Graph& input, absl::Span<const RewriteStep> steps,
                                    const Graph& output, absl::Span<const Substitution> rules,
                                    Certificate::Result result, const Deadline& deadline = {},
                                    Provenance* provenance = nullptr);

struct ReplayedSteps {
  Graph graph;  // the graph after the last step, without constant folding
  std::vector<RewriteStep> steps;
};

// Applies the certificate's steps to `input`, and no other steps. Each step uses the rule in
// `rules` that has the name and the text of the certificate's rule. InvalidArgument if `input` is
// not the certificate's input, if `rules` lacks a rule, or if a step does not apply or gives
// another graph than in the certificate; the message names the rule or the step.
absl::StatusOr<ReplayedSteps> Replay(const Certificate& certificate, const Graph& input,
                                     absl::Span<const Substitution> rules);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_CERTIFICATE_H_
