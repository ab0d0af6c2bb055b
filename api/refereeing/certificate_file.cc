#include "api/refereeing/certificate_file.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "api/optimization/certificate_file.h"
#include "api/refereeing/sides.h"
#include "base/deadline.h"
#include "base/file.h"
#include "graph/sizes/specialize.h"
#include "verifier/referee/record_certificate.h"

namespace lemma::api {
namespace {

// No certificate of a proof that a person would wait for is as long.
constexpr int64_t kMostBytes = int64_t{1} << 30;

VerdictCheck No(std::string problem) {
  VerdictCheck answer;
  answer.check.problem = std::move(problem);
  return answer;
}

// How the certificate says that the models are read.
RefereeOptions ReadAs(const referee::RefereeCertificate& certificate) {
  RefereeOptions options;
  options.dims = certificate.dims;
  options.ranges = certificate.symbolic;
  options.channel_block = certificate.channel_block;
  return options;
}

}  // namespace

absl::StatusOr<FileHashes> HashesOf(const std::string& before, const std::string& after) {
  FileHashes hashes;
  for (auto [path, hash] : {std::pair(&before, &hashes.before), {&after, &hashes.after}}) {
    auto sha256 = FileSha256(*path);
    if (!sha256.ok()) return sha256.status();
    *hash = *std::move(sha256);
  }
  return hashes;
}

absl::Status WriteRefereeCertificate(const RefereeResult& result, const FileHashes& hashes,
                                     const RefereeOptions& options) {
  auto certificate = referee::RecordCertificate(result.before, result.after, result.verdict);
  if (!certificate.ok()) return Prefixed(options.certificate, certificate.status());
  certificate->before_file = hashes.before;
  certificate->after_file = hashes.after;
  certificate->dims = options.dims;
  for (const auto& [name, range] : options.ranges) {
    if (range.least == range.most) certificate->dims.emplace(name, range.least);
  }
  certificate->symbolic = InputDimsOf(result.before);
  certificate->channel_block = options.channel_block;
  return WriteFileAtomically(options.certificate, {Print(*certificate)});
}

absl::StatusOr<bool> IsVerdictCertificate(const std::string& path) {
  auto text = ReadFile(path, kMostBytes);
  if (!text.ok()) return text.status();
  return referee::IsRefereeCertificate(*text);
}

absl::StatusOr<VerdictCheck> CheckVerdict(const std::string& before, const std::string& after,
                                          const std::string& certificate,
                                          const VerdictCheckOptions& options) {
  if (options.samples < 1) return OptionError("option samples: must be at least 1");
  if (options.work < 1) return OptionError("option work: must be at least 1");
  auto text = ReadFile(certificate, kMostBytes);
  if (!text.ok()) return text.status();
  auto parsed = referee::ParseRefereeCertificate(*text);
  if (!parsed.ok()) return No(std::string(parsed.status().message()));
  auto hashes = HashesOf(before, after);
  if (!hashes.ok()) return hashes.status();
  for (const auto& [path, is_same] : {std::pair(before, hashes->before == parsed->before_file),
                                      {after, hashes->after == parsed->after_file}}) {
    if (!is_same) return No(absl::StrCat(path, " is not the file that the certificate is of"));
  }
  const RefereeOptions how = ReadAs(*parsed);
  if (how.channel_block != 0 && how.channel_block != 8 && how.channel_block != 16) {
    return No("channel_block must be 0, 8 or 16");
  }
  // These are the files, so what keeps them from being read is in the certificate.
  auto a = LoadSide(before, how);
  auto b = LoadAfter(after, how);
  for (const absl::Status& status : {a.status(), b.status()}) {
    if (absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) ||
        absl::IsUnimplemented(status)) {
      return No(std::string(status.message()));
    }
    if (!status.ok()) return status;
  }
  if (const auto lines = DefaultDifferences(*a, *b); !lines.empty()) return No(lines[0]);
  if (InputDimsOf(a->graph) != parsed->symbolic) {
    return No("the symbolic dimensions are not those of the certificate");
  }
  VerdictCheck answer;
  answer.seed = options.seed ? *options.seed : DrawSeed();
  referee::CertificateCheckOptions engine;
  engine.prover.work = options.work;
  engine.prover.interrupted = options.interrupted;
  engine.samples = options.samples;
  engine.seed = answer.seed;
  engine.threads = options.threads;
  answer.check = referee::CheckCertificate(*parsed, a->graph, b->graph, engine);
  answer.certificate = *std::move(parsed);
  if (options.interrupted != nullptr && *options.interrupted) return Deadline::Interruption();
  return answer;
}

}  // namespace lemma::api
