// Checks certificates (docs/certificates.md): repeats the steps that an optimization recorded.
//
// The checker shares with the optimizer only the code that states the claim and the code that
// executes graphs: graphs and operators' definitions (graph/), the text of rules and certificates,
// the coverage of proofs (rewrite/rules/statement.h, coverage.h, proof_check.h), the check of a
// rule's numbers (rewrite/rules/held_numbers.h), and kernels/evaluate. It uses no search, no cost,
// no matching and no prover.
#ifndef LEMMA_VERIFIER_CERTIFICATE_CHECK_H_
#define LEMMA_VERIFIER_CERTIFICATE_CHECK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "rewrite/rules/certificate.h"
#include "verifier/certificate/mutant.h"

namespace lemma {

// One iteration of a loop (graph/onnx/run_time/loop_body.h), for CertificateBody.
struct LoopIteration {
  Graph graph;        // inputs: those of the body, then the values that the body may capture
  std::string frame;  // the node without its body
  // As CertificateCheckOptions::as_written, but for `graph`.
  std::function<absl::StatusOr<Graph>(const Graph&)> as_written;
};

// How the checker reads loops whose bodies are in payloads (graph/onnx/run_time/loop_body.h).
struct LoopReader {
  // The payload of a loop; nullopt for other nodes.
  std::function<std::optional<std::string>(const Node&)> payload;
  // An iteration of the loop that has this payload. Operand k of the loop is
  // values[reads[k]].
  std::function<absl::StatusOr<LoopIteration>(
      const std::string& payload, absl::Span<const Value> values, const std::vector<int>& reads)>
      iteration;
  // The results of a new loop that has this payload. Operand k of the new loop
  // is operand reads[k] of `loop`.
  std::function<absl::StatusOr<std::vector<Value>>(const Node& loop, const std::string& payload,
                                                   const std::vector<int>& reads)>
      apply;
};

struct CertificateCheckOptions {
  // Says why a rule is not trusted; "" if it is trusted. Called only for rules whose proof record
  // is about their current statement and definitions. Not called for corrected mutants, which are
  // checked instead. Absent: the rules for which it would be called are trusted.
  std::function<std::string(const Substitution&)> why_untrusted;
  // Returns the graph that results from writing the given graph in the output's format and reading
  // it again. Absent: writing and reading do not change a graph.
  std::function<absl::StatusOr<Graph>(const Graph&)> as_written;
  // Absent: a certificate with bodies of loops is refused.
  std::optional<LoopReader> loops;
  // How often `input` and the graph after the last step (before constants are folded) are compared
  // in the field, at each choice of symbolic sizes; 0: never.
  int samples = 1;
  // Seed of all random values, and of the second prime modulo which mutants are compared
  // (mutant.h). Draw a new seed for each check: the author of the certificate must not have known
  // it.
  uint64_t seed = 1;
  int threads = 1;
};

struct CertificateCheck {
  int step = 0;         // the number of the wrong step, from 1; 0: no particular step
  std::string problem;  // "": the certificate is correct
  bool ok() const { return problem.empty(); }

  // The counts include those of the certificates of bodies. But `elements` does
  // so only if the certificate itself has no steps; then it is the largest
  // count of a body.
  int samples = 0;                                  // comparisons made
  int64_t elements = 0;                             // elements of outputs in the last comparison
  std::vector<certificate::CheckedMutant> mutants;  // those of bodies first
  int bodies = 0;  // bodies of loops that were replaced, also inside other bodies
  // The number of steps whose sides agree in double, but not in the field: their laws hold for real
  // numbers only, they round constants, or they compute an index by a function that has no meaning
  // in the field, such as log.
  int64_t steps_in_double = 0;
  // How many of the comparisons were made only step by step, because an index of a whole graph lay
  // outside its tensor in the field.
  int by_steps = 0;
};

// Checks that the certificate's steps turn `input` into `output`:
//   * `input`, the graph after each step, and the final graph (without
//     barriers) have the recorded hashes. The final graph is the graph after
//     the last step, with constants folded and bodies of loops replaced;
//   * each rule is trusted, or true at its own sizes (verifier/certificate/mutant.h); its proof
//     record is about its current statement; and each step is a match of its rule that the rule's
//     proof covers (verifier/certificate/step.h);
//   * each folded constant equals the reference evaluation bit for bit;
//   * the final graph is `output`, node by node, apart from barriers and
//     offloads (graph/barrier.h). If it is not, the graph that
//     options.as_written returns for it must be `output` in the same sense;
//   * `input` and the graph after the last step, before folding, agree on
//     random inputs and weights in the field of 2^61 - 1 elements. If they
//     differ, each step is compared on its own: in the field and, if its sides
//     differ there and its rule is not bit_exact, in double. The steps that
//     hold in double only (CertificateCheck::steps_in_double) divide the
//     sequence of graphs into parts; the first and the last graph of each part
//     must agree in the field. If an index lies outside its tensor because the
//     field lacks a function that computes it, only the steps are compared;
//   * each loop whose body was replaced has the same frame in `output`, and its new body follows
//     from the old one by a certificate that is correct in the same sense;
//   * the float contract is the loosest of these: the contract that ContractOf
//     (rewrite/rules/certificate.h) gives, and the contracts of the bodies'
//     certificates. certificate.result is kInput if and only if there is no
//     step, nothing is folded, and no body is replaced.
// The caller must check the files and their hashes. Deterministic.
CertificateCheck CheckCertificate(const Certificate& certificate, const Graph& input,
                                  const Graph& output, const CertificateCheckOptions& options);

}  // namespace lemma

#endif  // LEMMA_VERIFIER_CERTIFICATE_CHECK_H_
