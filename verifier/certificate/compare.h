// Compares values of graphs on random inputs. If a random integer is used as an index and lies
// outside the tensor, the comparison is repeated with 0 in place of all random integers.
#ifndef LEMMA_VERIFIER_CERTIFICATE_COMPARE_H_
#define LEMMA_VERIFIER_CERTIFICATE_COMPARE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "verifier/certificate/run_graphs.h"

namespace lemma::certificate {

// Whether a[i] and b[i] have the same elements in the field, for all i. Inputs, weights and the
// values in `free` are not computed; they get random elements, as `random` says (run_graphs.h). `a`
// and `b` must have the same length, and a[i] and b[i] the same type. Errors are those of Evaluate
// (run_graphs.h).
absl::StatusOr<bool> AgreeInField(absl::Span<const Value> a, absl::Span<const Value> b,
                                  absl::Span<const Value> free, RandomValues random);

// The same in double, on positive numbers and again on numbers of both signs; ignores
// random.positive. Elements may differ by up to 2e-6 times the largest magnitude in a[i] (at least
// 1). If a value in `a` has the type f16 or bf16, the factor is 1e-2 or 5e-2, respectively. Skips
// pairs of elements of which at least one is not finite.
absl::StatusOr<bool> AgreeInDouble(absl::Span<const Value> a, absl::Span<const Value> b,
                                   absl::Span<const Value> free, RandomValues random);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_COMPARE_H_
