// Decides whether an optimized model (AFTER) equals the model from which it was made (BEFORE).
// Code: api/refereeing, which uses verifier/referee/referee.h. docs/referee.md says what a verdict
// covers.
#ifndef LEMMA_API_REFEREE_H_
#define LEMMA_API_REFEREE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/sizes/symbolic_size.h"
#include "rewrite/rules/substitution.h"
#include "verifier/referee/certificate/certificate.h"
#include "verifier/referee/certificate/check.h"
#include "verifier/referee/referee.h"

namespace lemma::api {

struct RefereeOptions {
  // By name, sizes of symbolic dimensions of ONNX models. Dimensions without a size here stay
  // symbolic, and the models are compared for all sizes of these dimensions.
  std::map<std::string, int64_t> dims;
  // By name, ranges of symbolic dimensions. A dimension without a range here has sizes from 1 on.
  std::map<std::string, SizeRange> ranges;
  // Sizes of symbolic dimensions at which the models are executed first; not used if `inputs` is
  // given. Dimensions that are omitted get usual sizes. The models are executed at other sizes,
  // too.
  DimValues hint;
  // Channels in a block of the layout NCHWc: 8 or 16. 0: each model decides (LoadOptions in
  // api/models/model_file.h). If a model allows both, 16 is tried first; if the outputs then differ
  // by more than rounding explains, and differ less with 8, both models are read with 8.
  int64_t channel_block = 0;
  // Limit on one comparison in seconds, without the time for reading; 0: no limit. When the time is
  // up, the answer is "unknown". If AFTER can be read only at fixed sizes, there are several
  // comparisons, each with this limit.
  double time_limit = 300;
  int64_t work = 100000000;  // limit on the steps of the proof of one region
  int64_t seed = 1;          // of random inputs and of the prover
  // Files with one set of values of BEFORE's inputs, given as in InputOptions::files
  // (api/models/model_inputs.h). The models are executed on it first. Empty: only random inputs.
  std::vector<std::string> inputs;
  int64_t samples = 2;    // number of sets of random inputs for each choice of sizes, at least 1
  int64_t int_range = 2;  // random integers lie in [0, int_range)
  int64_t threads = 1;
  // The loosest contract that is accepted.
  FloatContract accept = FloatContract::kRealOnly;
  // A folder, created if missing, for a refutation: the inputs on which the models differ, as
  // input_0.pb, …; and the smallest pair of graphs that differ, if one was found, as
  // pair_before.onnx and pair_after.onnx, with their inputs pair_input_0.pb, …. "": no files.
  std::string counterexample;
  // A file for a certificate, with which CheckVerdict repeats the proof. Written only if the models
  // are proved equal. If it cannot be written, Referee returns the error instead of the result:
  // Unimplemented if the proof uses a formula of weights with symbolic sizes. "": none.
  std::string certificate;
  // Called with a model's path and a decision made while the model was read, one line.
  std::function<void(const std::string&, const std::string&)> note;
  // As in referee::RefereeOptions, with the stage "reading MODEL" before the others. May be empty.
  std::function<void(const std::string& stage, int64_t done, int64_t all)> progress;
  // Whether RefereeResult::verdict.evidence keeps the log of the proofs.
  bool keep_obligations = false;
  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
};

struct RefereeResult {
  referee::RefereeResult verdict;
  // The graphs that were compared: as they were read or, if AFTER can be read only at fixed sizes,
  // at the sizes of the last comparison.
  Graph before, after;
  double seconds = 0;              // time of the comparison that gave the verdict
  std::vector<std::string> files;  // paths of the files written
  bool accepted = false;           // proved, and the contract is not looser than `accept`
};

// Compares the models at the paths `before` (BEFORE) and `after` (AFTER). If BEFORE has symbolic
// sizes but AFTER can be read only at fixed sizes, the models are compared at the sizes at which
// they are executed, and the answer is never "proved". Errors of reading are those of LoadModel and
// begin with a file's path. InvalidArgument for a wrong option, which the message names, and for
// missing sizes if BEFORE can be read only at fixed sizes. Cancelled if interrupted.
absl::StatusOr<RefereeResult> Referee(const std::string& before, const std::string& after,
                                      const RefereeOptions& options = {});
// The same for graphs in memory. The options about reading (dims, ranges, channel_block, note) have
// no effect, but `ranges` and `channel_block` are checked. InvalidArgument if options.inputs or
// options.certificate is not empty.
absl::StatusOr<RefereeResult> Referee(const Graph& before, const Graph& after,
                                      const RefereeOptions& options = {});

struct VerdictCheckOptions {
  int64_t work = 100000000;  // limit on the steps of the proof of one region
  // How often the models are compared on random inputs at each choice of sizes, at least 1.
  int samples = 1;
  std::optional<uint64_t> seed;  // of the random inputs; absent: drawn from the system
  int threads = 1;
  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
};
struct VerdictCheck {
  referee::CertificateCheck check;
  // Empty if the certificate cannot be parsed, or is rejected before its proof is repeated, for
  // example because of a file's hash.
  referee::RefereeCertificate certificate;
  uint64_t seed = 0;  // the seed that the check used; 0 if `certificate` is empty

  bool ok() const { return check.ok(); }
};
// Whether the file is a certificate that Referee wrote, rather than one of an optimization.
absl::StatusOr<bool> IsVerdictCertificate(const std::string& path);
// Repeats the proof in a certificate that Referee wrote
// (verifier/referee/certificate/check.h). `before`, `after` and `certificate`
// are paths. The status is an error if a file cannot be read or an option is
// wrong; the problem in VerdictCheck::check says what is wrong in the
// certificate. The certificate is also rejected if the models have the right
// hashes, but reading one of them with the sizes and options that the
// certificate names gives InvalidArgument, FailedPrecondition or Unimplemented.
absl::StatusOr<VerdictCheck> CheckVerdict(const std::string& before, const std::string& after,
                                          const std::string& certificate,
                                          const VerdictCheckOptions& options = {});

// The verdict in one line: "proved", "unknown: REASON", ….
std::string Headline(const RefereeResult& result);
// "differ by 0.1 on the same operands; rounding explains 1e-06", or that their types differ.
std::string HowTheyDiffer(const referee::DifferentPair& pair);
// The result for people: the headline, then its evidence. `verbose`: with all regions and weights.
std::string TextOf(const RefereeResult& result, bool verbose);
// The check of a certificate for people; characters that control a terminal are
// escaped.
std::string TextOf(const VerdictCheck& answer);

}  // namespace lemma::api

#endif  // LEMMA_API_REFEREE_H_
