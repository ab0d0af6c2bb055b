// Executes two graphs on the same random inputs. Internal to the check of certificates of the
// referee.
#ifndef LEMMA_VERIFIER_REFEREE_CERTIFICATE_EXECUTION_H_
#define LEMMA_VERIFIER_REFEREE_CERTIFICATE_EXECUTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace lemma::referee {

// Executes both graphs, which must have the same inputs and sizes that are numbers, by definition
// in double: on positive numbers, and on numbers of both signs. FailedPrecondition if an output of
// `after` differs by more than `tolerance` of the largest element, counted as at least 1, and by
// more than four times the effect of other roundings of its constants; or if it is not finite where
// that of `before` is. Other errors are those of the execution, such as OutOfRange for a position
// outside of its tensor.
absl::Status AgreeOnRandomInputs(const Graph& before, const Graph& after, double tolerance,
                                 uint64_t seed, int threads);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_CERTIFICATE_EXECUTION_H_
