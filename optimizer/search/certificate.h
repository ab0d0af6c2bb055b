// Making certificates of what a search did, and doing what a certificate says.
#ifndef LEMMA_OPTIMIZER_SEARCH_CERTIFICATE_H_
#define LEMMA_OPTIMIZER_SEARCH_CERTIFICATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "optimizer/search/search.h"
#include "rewrite/rules/certificate.h"
#include "rewrite/rules/substitution.h"

namespace lemma::optimizer {

// Everything but the files' hashes and how the input was read. `output` is what folding constants
// made of the graph after the last step. Every step is found again by its rule, its place
// or, if need be, just the graph that it leads to, and applied: Internal if there is none. A step
// costs time linear in the graph. Cancelled where the deadline was interrupted.
absl::StatusOr<Certificate> Certify(const Graph& input, absl::Span<const RewriteStep> steps,
                                    const Graph& output, absl::Span<const Substitution> rules,
                                    Certificate::Result result, const Deadline& deadline = {});

struct ReplayedSteps {
  Graph graph;  // after the last step, nothing folded
  std::vector<RewriteStep> steps;
};

// Applies the certificate's steps, and nothing else, by those of `rules` that say the same.
// InvalidArgument, which names the step, if `rules` lack one, or if it does not apply or leads to
// another graph.
absl::StatusOr<ReplayedSteps> Replay(const Certificate& certificate, const Graph& input,
                                     absl::Span<const Substitution> rules);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_CERTIFICATE_H_
