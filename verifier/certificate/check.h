// The small checker of certificates: repeats what an optimization says it did.
//
// Shares with the optimizer what states the claim, and nothing else: graphs and the operators'
// definitions (graph/), the text of rules and certificates, and what a proof covers (rewrite/
// statement.h, coverage.h). It knows no search, no cost, no matching and no prover.
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
  // Why a rule is not to be believed; "" if it is. Its record names what a proof of it has to be
  // of: that is checked already.
  std::function<std::string(const Substitution&)> disbelieve;
  // What a graph is after it was written as the output was, and read again; absent: itself.
  std::function<absl::StatusOr<Graph>(const Graph&)> as_written;
  // Comparisons in the field; 0: none.
  int samples = 1;
  // Of all random values, and of the second prime that mutants are compared modulo. Whoever wrote
  // the certificate must not have known it: draw it anew.
  uint64_t seed = 1;
  int threads = 1;
};

struct CertificateCheck {
  int step = 0;         // the one that is wrong; 0: none in particular
  std::string problem;  // "": the certificate is right
  bool ok() const { return problem.empty(); }

  int samples = 0;       // comparisons made
  int64_t elements = 0;  // of outputs compared in each
  std::vector<certificate::CheckedMutant> mutants;
  int64_t laws = 0;  // steps that rest on more than the field has, compared in double
};

// Whether `output` is what the certificate's steps make of `input`:
//   * the graphs and, after each step, the graph that results have the hashes that are recorded;
//   * each rule is believed, or true at its own sizes (verifier/certificate/mutant.h), its record
//     is of what it says now, and each step is a match of it that its proof covers
//     (verifier/certificate/step.h);
//   * each folded constant is, bit for bit, what the reference evaluation gives;
//   * the last graph is `output`, node by node;
//   * `input` and the graph before folding agree on random inputs in the field of 2^61 - 1
//     elements, with random weights;
//   * the float contract is that of the rules and of what was folded, `result` is kInput if and
//     only if nothing was done.
// Files and their hashes are the caller's. Deterministic.
CertificateCheck CheckCertificate(const Certificate& certificate, const Graph& input,
                                  const Graph& output, const CertificateCheckOptions& options);

}  // namespace lemma

#endif  // LEMMA_VERIFIER_CERTIFICATE_CHECK_H_
