// Checks whether the steps of a certificate turn one model into another, and whether a back end's
// plan and the generated CUDA kernels compute the results that the model's operators define. Code:
// api/checking.
//
//   auto answer = api::CheckCertificate("model.onnx", "faster.onnx", "faster.onnx.cert", {});
//   if (answer.ok() && answer->ok()) …
#ifndef LEMMA_API_CHECK_H_
#define LEMMA_API_CHECK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/models/model_file.h"
#include "graph/graph.h"
#include "kernels/codegen/product_precision.h"
#include "rewrite/rules/certificate.h"
#include "verifier/certificate/check.h"

namespace lemma::api {

struct CheckOptions {
  // Rules whose proof records are trusted: a file, a built-in set, or a list of these, as
  // LoadRulesFile (api/rules/rules_file.h) takes them; "": all built-in rules.
  std::string rules;
  bool prove = false;  // trust no record: prove the certificate's rules anew
  // A folder with a file NAME.proof for each rule NAME of the certificate. The small checker
  // (verifier/checker) repeats these proofs; a missing file is a fault. "": no proof is repeated.
  // Ignored with `prove`.
  std::string proofs;
  // How often the input model and the graph after the last step are compared on random values in
  // the field (graph/expr/field.h); 0: never.
  int samples = 1;
  // The seed of the random values. It also chooses the second of the two primes modulo which
  // corrected mutants (docs/pet.md) are compared. Absent: drawn from the system, so that the author
  // of the certificate cannot foresee it.
  std::optional<uint64_t> seed;
  // The seed that the certificate must name if the output has random weights in place of the
  // input's weights (ReseedWeights in api/models/random_values.h). Absent: the certificate must
  // name no seed, and the output has the input's weights.
  std::optional<int64_t> reseed;
  int threads = 1;  // threads that check
};

// The result of the check. problem() says why the certificate is rejected; "" if it is accepted.
struct CheckResult {
  CertificateCheck check;
  // Empty if the certificate cannot be parsed, or is rejected because of a file's hash or format.
  Certificate certificate;
  // By name: the input's symbolic dimensions that the certificate does not name, with the sizes
  // that were chosen when the input was read.
  std::map<std::string, int64_t> assumed;
  uint64_t seed = 0;  // the seed that the check used; 0 if `certificate` is empty
  // The option that might change the answer.
  enum class Hint {
    kNone,
    kRules,   // `rules` or `prove`: the certificate has a rule that `rules` lacks
    kReseed,  // `reseed`: the output has random weights from the seed certificate.reseed
  };
  Hint hint = Hint::kNone;

  bool ok() const { return check.ok(); }
  const std::string& problem() const { return check.problem; }
};
// The result for people. `advice`, a text of the caller, is appended to the problem. Characters of
// the certificate that control a terminal are escaped (Printable in base/text_table.h).
std::string TextOf(const CheckResult& answer, const std::string& advice = "");

// Repeats the certificate's steps with the certificate checker (verifier/certificate/check.h).
// `input` (the model before the optimization), `output` (the model after it) and `certificate` are
// paths. The certificate must contain the hashes of the two model files. The status is an error if
// a file cannot be read or an option is wrong; a fault in the certificate is reported by
// CheckResult::problem.
absl::StatusOr<CheckResult> CheckCertificate(const std::string& input, const std::string& output,
                                             const std::string& certificate,
                                             const CheckOptions& options);
// The same for models in memory; hashes of files are not compared. The input must have been read
// with the sizes of symbolic dimensions that the certificate names. It must have its own weights,
// even if the certificate names a seed.
absl::StatusOr<CheckResult> CheckCertificate(const Model& input, const Model& output,
                                             const Certificate& certificate,
                                             const CheckOptions& options);

struct PlanCheckOptions {
  std::string backend = "cpu";   // one of PlanCheckBackends
  std::optional<uint64_t> seed;  // of random values; absent: drawn from the system
  // For CheckPlan: the threads for which the back end "cpu" makes the plan. For CheckKernels: the
  // threads that check.
  int threads = 1;
  // CheckPlan ignores the members below.
  codegen::ProductPrecision precision = codegen::ProductPrecision::kF32;  // of products
  int architecture = 90;  // the compute capability to generate kernels for: 80 or 90
  // Whether NVRTC also compiles the kernels, into the folder where the back end "cuda" looks for
  // them.
  bool compile = false;
};
// The back ends whose plans can be checked.
std::vector<std::string> PlanCheckBackends();

// The result of CheckPlan: how many kernels (for "cuda", launches) passed the check, counted by the
// kind of evidence. If there is a problem, the counts are incomplete.
struct PlanCheck {
  std::string problem;   // the kernel or element that is wrong; "": none
  int64_t proved = 0;    // by the prover, in real numbers; "cpu" only
  int64_t compared = 0;  // on random values
  // Not compared: kernels that are generated from the definitions, our own kernels, primitives of
  // oneDNN that cannot be read back (StatementOf in runtime/cpu/statement.h), products that take
  // several launches, and copies.
  int64_t by_definition = 0;
  // "cpu" only: the operators that are applied to blocks of large values (docs/blocks.md). Each is
  // proved to compute a block of what the model computes.
  int64_t in_blocks = 0;
  uint64_t seed = 0;  // the seed that the check used

  bool ok() const { return problem.empty(); }
};

// Checks the plan that a back end makes for the graph. Needs no GPU, not even for the back end
// "cuda". Each kernel, as it is handed to oneDNN or cuBLASLt, must compute the results that its
// operators define, and each element of a value must stay in memory until it is read. For "cpu",
// the operators on blocks must compute what the model computes. PlanCheck::problem names the first
// kernel or element that violates this. InvalidArgument for a back end whose plans cannot be
// checked.
absl::StatusOr<PlanCheck> CheckPlan(const Graph& graph, const PlanCheckOptions& options);
// The result for people. `backend`: the back end whose plan was checked.
std::string TextOf(const PlanCheck& check, const std::string& backend);

// The kernels of one group of operators, or of several groups that are fused side by side.
struct CheckedProgram {
  // The operators, such as "conv2d+add+relu"; the schedules of the kernels, joined by " + ", such
  // as "by row of 256 + by element x4".
  std::string operators, schedule;
  int kernels = 1;  // number of kernels, which are launched one after the other
  int uses = 1;     // number of groups in the graph that have these kernels
  // `agrees`: at random points the results equal the operators' results, and no other check failed.
  // `wrong`: a check failed. Both false: the kernels could not be checked.
  bool agrees = false, wrong = false;
  std::string reason;  // why `agrees` is false; "" if it is true
  double seconds = 0;  // of processor time, for the check

  int64_t count() const { return int64_t{kernels} * uses; }  // kernels in all groups
};
// The result of CheckKernels.
struct KernelCheck {
  std::string problem;  // the first program that is wrong, with the reason; "": none
  std::vector<CheckedProgram> programs;
  uint64_t seed = 0;  // the seed that the check used

  // Also true if some programs could not be checked.
  bool ok() const { return problem.empty(); }
  bool all_agree() const;  // whether each program could be checked, and is right
};

// Checks the text of every kernel that the back end "cuda" would generate for the graph, by
// executing it in exact arithmetic (verifier/kernels/kernel_check.h). Needs no GPU. Ignores
// options.backend. InvalidArgument if options.threads is less than 1, or options.architecture is
// neither 80 nor 90. With options.compile, FailedPrecondition if NVRTC is missing, and Internal if
// it refuses a kernel.
absl::StatusOr<KernelCheck> CheckKernels(const Graph& graph, const PlanCheckOptions& options);
// The result for people: a table of the kinds of schedules, and the kernels that were not checked.
std::string TextOf(const KernelCheck& check);

}  // namespace lemma::api

#endif  // LEMMA_API_CHECK_H_
