// Makes the certificate of a proof by the referee. Internal to the referee and to api/.
#ifndef LEMMA_VERIFIER_REFEREE_RECORD_CERTIFICATE_H_
#define LEMMA_VERIFIER_REFEREE_RECORD_CERTIFICATE_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "verifier/referee/certificate/certificate.h"
#include "verifier/referee/referee.h"

namespace lemma::referee {

// The certificate of `result`, which must be the result of Judge(before, after, …) with the answer
// kProved. The caller fills in the fields about files: their hashes, and how they are read.
// Unimplemented if a formula has symbolic sizes, because the text form of graphs cannot express
// them.
absl::StatusOr<RefereeCertificate> RecordCertificate(const Graph& before, const Graph& after,
                                                     const RefereeResult& result);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_RECORD_CERTIFICATE_H_
