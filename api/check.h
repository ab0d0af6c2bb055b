// Checks what was done: whether a certificate is true of two models, and whether a back end's plan
// computes what the model's operators define. Code: api/checking.
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
#include "rewrite/rules/certificate.h"
#include "verifier/certificate/check.h"

namespace lemma::api {

struct CheckOptions {
  // Rules whose proof records are believed: a file, or "" for the built-in ones.
  std::string rules;
  bool prove = false;  // believe no record: prove the certificate's rules anew
  // A folder with a file NAME.proof for each rule, which the small checker repeats; "": none.
  std::string proofs;
  // How often input and output are compared on random values in the field (graph/expr/field.h); 0:
  // never.
  int samples = 1;
  // The seed of the random values, and of the second prime modulo which mutants are compared.
  // Absent: drawn from the system, so that the author of the certificate could not know it.
  std::optional<uint64_t> seed;
  // The seed of random weights that replace the input's weights; absent: the input keeps its own.
  std::optional<int64_t> reseed;
  int threads = 1;
};

// The result of the check. problem() says why the certificate is rejected; "" if it is right.
struct CheckResult {
  CertificateCheck check;
  Certificate certificate;  // empty if it was rejected before its steps were repeated
  std::map<std::string, int64_t> assumed;  // sizes of symbolic dimensions that were not given
  uint64_t seed = 0;                       // the seed that the check used
  // The option that might change the answer.
  enum class Hint {
    kNone,
    kRules,   // `rules` or `prove`: the certificate has a rule that the file lacks
    kReseed,  // `reseed`: the output has the random weights of certificate.reseed
  };
  Hint hint = Hint::kNone;

  bool ok() const { return check.ok(); }
  const std::string& problem() const { return check.problem; }
};

// Repeats the certificate's steps with the certificate checker (verifier/certificate/check.h).
// `input`, `output` and `certificate` are files; the certificate must name these two models. A
// status that is not OK is about an unreadable file or an option; a fault in the certificate is in
// the result.
absl::StatusOr<CheckResult> CheckCertificate(const std::string& input, const std::string& output,
                                             const std::string& certificate,
                                             const CheckOptions& options);
// The same for models in memory; hashes of files are not compared. The input must have been read
// with the dimensions that the certificate names, and must have its own weights.
absl::StatusOr<CheckResult> CheckCertificate(const Model& input, const Model& output,
                                             const Certificate& certificate,
                                             const CheckOptions& options);

struct PlanCheckOptions {
  std::string backend = "cpu";   // one of PlanCheckBackends
  std::optional<uint64_t> seed;  // of random values; absent: drawn from the system
  int threads = 1;
};
// The back ends whose plans can be checked.
std::vector<std::string> PlanCheckBackends();

// How many kernels (for CUDA, launches) are known to compute what their operators define.
struct PlanCheck {
  std::string problem;        // the kernel or element that is wrong; "": none
  int64_t proved = 0;         // by the prover, in real numbers; "cpu" only
  int64_t compared = 0;       // on random values
  int64_t by_definition = 0;  // generated from the definitions, or kernels of our own
  uint64_t seed = 0;          // the seed that the check used

  bool ok() const { return problem.empty(); }
};

// Checks the plan that a back end makes for the graph: each kernel, as it is handed to the library,
// must compute what its operators define, and each element must stay in memory until it is read.
// InvalidArgument for a back end whose plans cannot be checked.
absl::StatusOr<PlanCheck> CheckPlan(const Graph& graph, const PlanCheckOptions& options);

// The kernels of one group of operators, or of several that are fused side by side.
struct CheckedProgram {
  std::string operators, schedule;
  int kernels = 1;  // launched one after the other
  int uses = 1;     // groups of the graph that have equal kernels
  // Whether its results agree with the operators' at random points, and nothing else is wrong; or
  // whether something is. Neither: not checked.
  bool agrees = false, wrong = false;
  std::string reason;  // unless it agrees
  double seconds = 0;  // of processor time, for the check
};
struct KernelCheck {
  std::string problem;  // the first one that is wrong; "": none
  std::vector<CheckedProgram> programs;
  uint64_t seed = 0;  // the seed that the check used

  bool ok() const { return problem.empty(); }
};

// Checks the text of every kernel that the back end "cuda" would generate for the graph, by
// executing it in exact arithmetic (verifier/kernels/kernel_check.h). Needs no GPU.
absl::StatusOr<KernelCheck> CheckKernels(const Graph& graph, const PlanCheckOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_CHECK_H_
