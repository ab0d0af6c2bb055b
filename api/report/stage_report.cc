// Prepares the page of an optimization as a file.
#include <ctime>
#include <utility>

#include "api/optimization/certificate_file.h"
#include "api/report.h"

namespace lemma::api {
namespace {

// "2026-01-31 12:00 UTC"
std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts));
}

}  // namespace

absl::StatusOr<StagedFile> StageReport(const Graph& input, absl::Span<const Tensor> inputs,
                                       const OptimizeOptions& options, const OptimizeResult& result,
                                       ReportFiles files, const StagedFile* certificate,
                                       const std::string& path) {
  files.date = Now();
  // A certificate that goes to a device cannot be hashed.
  if (certificate != nullptr && !certificate->temporary().empty()) {
    auto hash = FileSha256(certificate->temporary());
    if (!hash.ok()) return hash.status();
    files.certificate_sha256 = *hash;
  }
  auto page = ReportOf(input, inputs, options, result, files);
  if (!page.ok()) return page.status();
  return StagedFile::Write(path, {*page});
}

}  // namespace lemma::api
