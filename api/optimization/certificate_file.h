// Reads and writes certificates as files beside models.
#ifndef LEMMA_API_OPTIMIZATION_CERTIFICATE_FILE_H_
#define LEMMA_API_OPTIMIZATION_CERTIFICATE_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/models/model_file.h"
#include "rewrite/rules/certificate.h"

namespace lemma::api {

// SHA-256 of a file, in hexadecimal. Error messages begin with the path.
absl::StatusOr<std::string> FileSha256(const std::string& path);

// The text of a file that begins as a certificate does; InvalidArgument for any other file. Error
// messages begin with the path.
absl::StatusOr<std::string> ReadCertificateText(const std::string& path);

// The entries of `dims` whose names are symbolic dimensions of the model.
std::map<std::string, int64_t> UsedDims(const Model& model,
                                        const std::map<std::string, int64_t>& dims);

// How a model was read. The certificate records this.
struct InputRecord {
  std::string sha256;                          // hash of its file when it was read
  std::map<std::string, int64_t> dims;         // sizes given to its symbolic dimensions
  std::map<std::string, SizeRange> symbolic;   // dimensions that stayed symbolic
  std::map<std::string, Tensor> fixed_inputs;  // inputs whose values are part of the graph
  std::optional<int64_t> reseed;               // seed of random weights in place of its weights
};
// InvalidArgument if a certificate cannot hold a value in `model.fixed_inputs`: floats, more than
// 64 elements, or a rank above 8.
absl::Status CheckFixedInputs(const Model& model);
// The record of a model that was just read from `path`. `dims` are the sizes that were asked for;
// names that are not symbolic dimensions of the model are left out. The sizes in model.bound_dims
// are recorded too. `reseed` is not set; the caller sets it if weights were replaced. Errors as in
// FileSha256.
absl::StatusOr<InputRecord> RecordInput(const std::string& path, const Model& model,
                                        const std::map<std::string, int64_t>& dims = {});
// The certificate, with `record` as the record of its input.
Certificate Recorded(Certificate certificate, const InputRecord& record);

// SHA-256, in hexadecimal, of the part of the certificate's text that does not depend on the files:
// from the line "rules …" to the line before "sha256 …" (docs/certificates.md).
std::string HashOfSteps(const Certificate& certificate);

// Adds the hash of the output to the certificate, and prepares the certificate's file for `path`;
// the caller commits it (StagedFile in base/file.h). FailedPrecondition if the output is not a
// regular file but, for example, a pipe, which cannot be hashed.
absl::StatusOr<StagedFile> StageCertificate(Certificate certificate, const StagedFile& output,
                                            const std::string& path);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_CERTIFICATE_FILE_H_
