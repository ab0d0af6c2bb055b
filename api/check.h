// Checking what was done: does a certificate tell the truth of two models, does a back end's plan
// compute what a model means?
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
  // Rules whose records are believed: a file, or "" for the built-in ones.
  std::string rules;
  bool prove = false;  // believe no record: prove the certificate's rules anew
  // A folder with a file NAME.proof for each rule, which the small checker repeats; "": none.
  std::string proofs;
  // How often input and output are compared on random values in the field; 0: not.
  int samples = 1;
  // Of the random values, and of the second prime that mutants are compared modulo. Absent: drawn
  // from the system, so that nobody who wrote the certificate could know it.
  std::optional<uint64_t> seed;
  // The seed of the weights that the input's are to be replaced by; absent: they are its own.
  std::optional<int64_t> reseed;
  int threads = 1;
};

// What the check found; problem() says why the certificate is rejected, "" if it is right.
struct CheckResult {
  CertificateCheck check;
  Certificate certificate;                 // empty if it is rejected before it is repeated
  std::map<std::string, int64_t> assumed;  // sizes of symbolic dimensions that nobody gave
  uint64_t seed = 0;                       // that was used
  // The option that might lead to another answer.
  enum class Hint {
    kNone,
    kRules,   // `rules` or `prove`: the certificate has a rule that the file has not
    kReseed,  // `reseed`: the output has the random weights of certificate.reseed
  };
  Hint hint = Hint::kNone;

  bool ok() const { return check.ok(); }
  const std::string& problem() const { return check.problem; }
};

// Repeats, by the small checker (verifier/certificate/check.h), what the certificate says of how
// the output was made of the input. All three are files, and the certificate has to be of these
// two. A status is about a file that cannot be read or an option; what is wrong with the
// certificate is in the result.
absl::StatusOr<CheckResult> CheckCertificate(const std::string& input, const std::string& output,
                                             const std::string& certificate,
                                             const CheckOptions& options);
// The same of models, whose files' hashes nobody looks at. The input was read with the dimensions
// that the certificate says; its weights are still its own.
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

// How many kernels, or launches, it is known of that they compute what their operators mean.
struct PlanCheck {
  std::string problem;        // the kernel that computes something else; "": none
  int64_t proved = 0;         // by the prover, in real numbers; "cpu" only
  int64_t compared = 0;       // on random values
  int64_t by_definition = 0;  // generated from the definitions, or kernels of our own
  uint64_t seed = 0;          // that was used

  bool ok() const { return problem.empty(); }
};

// Whether each kernel of the plan that a back end makes of the graph, as it is handed to the
// library, computes what its operators mean, and whether each element stays in memory until it is
// read.
absl::StatusOr<PlanCheck> CheckPlan(const Graph& graph, const PlanCheckOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_CHECK_H_
