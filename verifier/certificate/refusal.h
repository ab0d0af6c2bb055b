// The status by which the certificate checker refuses a certificate. Internal to
// verifier/certificate.
#ifndef LEMMA_VERIFIER_CERTIFICATE_REFUSAL_H_
#define LEMMA_VERIFIER_CERTIFICATE_REFUSAL_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lemma::certificate {

// FailedPrecondition: the certificate does not hold. Other codes: it could not be checked.
inline absl::Status Refused(absl::string_view why) { return absl::FailedPreconditionError(why); }

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_REFUSAL_H_
