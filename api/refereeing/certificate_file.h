// Writes the certificate of a proof. Internal to api/refereeing.
#ifndef LEMMA_API_REFEREEING_CERTIFICATE_FILE_H_
#define LEMMA_API_REFEREEING_CERTIFICATE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/referee.h"

namespace lemma::api {

// The SHA-256 of both models' files, in hexadecimal.
struct FileHashes {
  std::string before, after;
};
// Errors as in FileSha256 (api/optimization/certificate_file.h).
absl::StatusOr<FileHashes> HashesOf(const std::string& before, const std::string& after);

// Writes the file options.certificate. `result` must be proved; `options` say how the models were
// read, and `hashes` must be those of the files at the time when the models were read.
absl::Status WriteRefereeCertificate(const RefereeResult& result, const FileHashes& hashes,
                                     const RefereeOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_REFEREEING_CERTIFICATE_FILE_H_
