// Executes two graphs on the same random inputs. Internal to the check of certificates of the
// referee.
#ifndef LEMMA_VERIFIER_REFEREE_CERTIFICATE_EXECUTION_H_
#define LEMMA_VERIFIER_REFEREE_CERTIFICATE_EXECUTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace lemma::referee {

// Executes both graphs by definition in double: on positive numbers, and on numbers of both signs.
// The graphs must have the same inputs, and no symbolic sizes. FailedPrecondition in these cases:
//   * an output element differs by more than each of two limits: `tolerance`
//     times the largest magnitude in all outputs of `before` (at least 1), and
//     four times the effect of other roundings of the constants of `after`
//     (verifier/referee/evidence/other_roundings.h);
//   * an element is finite in `before` but not in `after`;
//   * an element is infinite in `before`, and NaN or the other infinity in `after`.
// Other errors are those of the execution, such as OutOfRange if a position is outside of its
// tensor even when all random integers are 0.
absl::Status AgreeOnRandomInputs(const Graph& before, const Graph& after, double tolerance,
                                 uint64_t seed, int threads);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_CERTIFICATE_EXECUTION_H_
