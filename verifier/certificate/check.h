// Checks certificates: repeats the steps that an optimization recorded.
//
// The checker shares with the optimizer only the code that states the claim: graphs and operators'
// definitions (graph/), the text of rules and certificates, and the coverage of proofs
// (rewrite/rules/statement.h, coverage.h). It uses no search, no cost, no matching and no prover.
#ifndef LEMMA_VERIFIER_CERTIFICATE_CHECK_H_
#define LEMMA_VERIFIER_CERTIFICATE_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "rewrite/rules/certificate.h"
#include "verifier/certificate/mutant.h"

namespace lemma {

struct CertificateCheckOptions {
  // Says why a rule is not trusted; "" if it is trusted. Is called only for rules whose proof
  // record is of their current statement and definitions, and not for mutants, which are checked
  // instead. Absent: every such rule is trusted.
  std::function<std::string(const Substitution&)> why_untrusted;
  // Returns the graph that results from writing the given one in the output's format and reading it
  // again. Absent: unchanged.
  std::function<absl::StatusOr<Graph>(const Graph&)> as_written;
  // Number of comparisons of input and result in the field; 0: none.
  int samples = 1;
  // Seed of all random values, and of the second prime that mutants are compared modulo. Draw it
  // anew: the author of the certificate must not have known it.
  uint64_t seed = 1;
  int threads = 1;
};

struct CertificateCheck {
  int step = 0;         // the wrong step, counted from 1; 0: no particular step
  std::string problem;  // "": the certificate is correct
  bool ok() const { return problem.empty(); }

  int samples = 0;                                  // comparisons made
  int64_t elements = 0;                             // elements of outputs compared in each sample
  std::vector<certificate::CheckedMutant> mutants;  // of the certificate, in its order
  int64_t laws = 0;  // steps that need laws that the field lacks; these are compared in double
};

// Checks that the certificate's steps turn `input` into `output`:
//   * the graphs, and the graph after each step, have the recorded hashes;
//   * each rule is trusted, or true at its own sizes (verifier/certificate/mutant.h); its record is
//     of its current statement; and each step is a match of it that its proof covers
//     (verifier/certificate/step.h);
//   * each folded constant equals the reference evaluation bit for bit;
//   * the last graph is `output`, node by node;
//   * `input` and the graph before folding agree on random inputs and weights in the field of
//     2^61 - 1 elements;
//   * the float contract is that of the rules and the folding; `result` is kInput if and only if
//     there is no step and nothing is folded.
// The caller checks the files and their hashes. Deterministic.
CertificateCheck CheckCertificate(const Certificate& certificate, const Graph& input,
                                  const Graph& output, const CertificateCheckOptions& options);

}  // namespace lemma

#endif  // LEMMA_VERIFIER_CERTIFICATE_CHECK_H_
