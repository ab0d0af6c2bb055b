// Certificates as files beside models.
#ifndef LEMMA_API_OPTIMIZATION_CERTIFICATE_FILE_H_
#define LEMMA_API_OPTIMIZATION_CERTIFICATE_FILE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/models/model_file.h"
#include "rewrite/rules/certificate.h"

namespace lemma::api {

// SHA-256 of a file, in hexadecimal. Messages begin with the path.
absl::StatusOr<std::string> FileSha256(const std::string& path);

// A file that claims to be a certificate; anything else is InvalidArgument. Messages begin with the
// path.
absl::StatusOr<std::string> ReadCertificateText(const std::string& path);

// Those of `dims` that the model has symbolic dimensions for.
std::map<std::string, int64_t> UsedDims(const Model& model,
                                        const std::map<std::string, int64_t>& dims);

// Adds the hash of the output, and stages the certificate for `path`.
absl::StatusOr<StagedFile> StageCertificate(Certificate certificate, const StagedFile& output,
                                            const std::string& path);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_CERTIFICATE_FILE_H_
