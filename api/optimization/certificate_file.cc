#include "api/optimization/certificate_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/models/sizes.h"
#include "base/file.h"
#include "base/sha256.h"
#include "graph/sizes/specialize.h"

namespace lemma::api {

absl::StatusOr<std::string> FileSha256(const std::string& path) {
  auto size = FileSize(path);
  if (!size.ok()) return Prefixed(path, size.status());
  Sha256 hash;
  std::string piece;
  for (int64_t at = 0; at < *size; at += static_cast<int64_t>(piece.size())) {
    piece.resize(static_cast<size_t>(std::min<int64_t>(*size - at, int64_t{1} << 22)));
    const auto n = static_cast<int64_t>(piece.size());
    if (absl::Status s = ReadFileRange(path, at, n, &piece[0]); !s.ok()) return Prefixed(path, s);
    hash.Add(piece);
  }
  return hash.Finish();
}

absl::StatusOr<std::string> ReadCertificateText(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder, not a certificate"));
  }
  auto text = ReadFile(path, int64_t{1} << 30);
  if (!text.ok()) return Prefixed(path, text.status());
  if (!IsCertificate(*text)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is no certificate"));
  }
  return text;
}

std::map<std::string, int64_t> UsedDims(const Model& model,
                                        const std::map<std::string, int64_t>& dims) {
  std::map<std::string, int64_t> used;
  for (const SymbolicDim& dim : SymbolicDimsOf(model)) {
    if (auto it = dims.find(dim.name); it != dims.end()) used.insert(*it);
  }
  return used;
}

absl::StatusOr<InputRecord> RecordInput(const std::string& path, const Model& model,
                                        const std::map<std::string, int64_t>& dims) {
  auto sha256 = FileSha256(path);
  if (!sha256.ok()) return sha256.status();
  std::map<std::string, int64_t> all = dims;
  all.insert(model.bound_dims.begin(), model.bound_dims.end());
  return InputRecord{*std::move(sha256), UsedDims(model, all), InputDimsOf(model.graph),
                     model.fixed_inputs, std::nullopt};
}

absl::Status CheckFixedInputs(const Model& model) {
  for (const auto& [name, value] : model.fixed_inputs) {
    if (CanBeFixed(value.type())) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the graph holds for one value of input '", name, "', a ", value.type().ToString(),
        "; a certificate holds such values only if they are at most ", kMaxFixedElements,
        " integers"));
  }
  return absl::OkStatus();
}

Certificate Recorded(Certificate certificate, const InputRecord& record) {
  certificate.input_file = record.sha256;
  certificate.dims = record.dims;
  certificate.symbolic = record.symbolic;
  certificate.fixed_inputs = record.fixed_inputs;
  certificate.reseed = record.reseed;
  return certificate;
}

std::string HashOfSteps(const Certificate& certificate) {
  const std::string text = PrintCertificate(certificate);
  const size_t begin = text.find("\nrules ") + 1, end = text.rfind("\nsha256 ") + 1;
  return Sha256Of(absl::string_view(text).substr(begin, end - begin));
}

absl::StatusOr<StagedFile> StageCertificate(Certificate certificate, const StagedFile& output,
                                            const std::string& path) {
  if (output.temporary().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": cannot tell the hash of what is no regular file"));
  }
  auto sha256 = FileSha256(output.temporary());
  if (!sha256.ok()) return sha256.status();
  certificate.output_file = *std::move(sha256);
  auto staged = StagedFile::Write(path, {PrintCertificate(certificate)});
  if (!staged.ok()) return Prefixed(path, staged.status());
  return staged;
}

}  // namespace lemma::api
