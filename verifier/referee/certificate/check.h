// Checks a certificate of the referee: repeats the proof of each region, without a search.
//
// The checker shares with the referee what a verdict rests on (verifier/referee/evidence): the
// match of inputs and outputs, the comparison of weights with formulas, the proof of a region, and
// what follows from all regions. It does not share the code by which the referee guesses which
// values are equal, how weights were made, and where to cut.
#ifndef LEMMA_VERIFIER_REFEREE_CERTIFICATE_CHECK_H_
#define LEMMA_VERIFIER_REFEREE_CERTIFICATE_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "verifier/prover/prover.h"
#include "verifier/referee/certificate/certificate.h"
#include "verifier/verdict.h"

namespace lemma::referee {

struct CertificateCheckOptions {
  // prover.work limits the steps of each attempt to prove a region. The limit for each weight and
  // for each computed constant is prover.work plus 100 steps per element.
  ProverOptions prover;
  // How often the outputs are compared on random inputs, in double, at each
  // choice of symbolic sizes; 8 times as often if the inputs have fewer than 64
  // elements. Must be at least 1: only an execution shows that a read at
  // constant positions is inside its tensor.
  int samples = 1;
  uint64_t seed = 1;  // of the random inputs; the author of the certificate should not know it
  int threads = 1;
};

struct CertificateCheck {
  std::string problem;  // "": the certificate is correct
  bool ok() const { return problem.empty(); }

  FloatContract contract = FloatContract::kRealOnly;  // of the whole models
  std::string coverage;            // the shapes and sizes for which the models are equal
  std::vector<std::string> notes;  // as MatchedInterface::notes
  int regions = 0;                 // number of regions in the certificate
  int proofs = 0;    // number of proofs made: one for each region that equals no earlier region
  int weights = 0;   // number of weights of `after` that equal their formulas exactly, as copies do
  int computed = 0;  // number of the other weights with a formula: they equal it up to rounding
  double ulps = 0;   // the largest distance of `computed` weights, in units in the last place
  // The number of comparisons on random inputs, with formulas in the place of weights. Each
  // comparison uses positive inputs and inputs of both signs.
  int samples = 0;
  int64_t elements = 0;  // number of elements of the outputs in the last comparison
};

// Checks that the certificate proves the two graphs equal:
//   * inputs and outputs correspond (evidence/interface.h);
//   * formulas compute constants only, or move other values;
//   * constants that `after` computes are finite, as far as they can be evaluated: those that are
//     computed in f32, and those that are only moved;
//   * each weight that is replaced has the elements that its formula gives, or elements in the
//     interval of the formula's evaluations in f32 (evidence/weight_comparison.h);
//   * each region is proved (evidence/region_proof.h), on the values that were proved equal before,
//     and with the facts about elements of constants that the certificate names;
//   * regions are cut only at values of `before`, at leaves (inputs, weights, constants), or at
//     values that are computed from constants, if the certificate names a fact about their
//     elements;
//   * it follows that all outputs are equal, and the float contract that follows
//     (evidence/conclusion.h) is the contract in the certificate;
//   * the outputs agree on random inputs in double.
// The caller must read the graphs as the certificate says (dims, symbolic, channel_block), compare
// the files' hashes and the symbolic dimensions with the certificate, and compare the default
// values of both models' inputs.
CertificateCheck CheckCertificate(const RefereeCertificate& certificate, const Graph& before,
                                  const Graph& after, const CertificateCheckOptions& options);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_CERTIFICATE_CHECK_H_
