// Forges certificates with rules that are false, or whose float contracts are too strict. Each
// forged certificate has a current proof record, a correct checksum and correct hashes.
#ifndef LEMMA_TESTS_VERIFIER_CERTIFICATE_FORGERY_H_
#define LEMMA_TESTS_VERIFIER_CERTIFICATE_FORGERY_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rewrite/rules/certificate.h"
#include "rewrite/rules/substitution.h"
#include "tests/verifier/certificate/certificate_cases.h"

namespace lemma {

// A rule, given by parts of its text: `vars`, `contract`, `source` and `target`. `source` ends with
// "return z". `mutant` is the text of a mutant; the certificate claims that `target` corrects it
// (docs/certificates.md#corrected-mutants). Only ProblemOf needs `mutant`. `problem` is a part of
// the message with which the checker must refuse the rule. `name` is for people.
struct Forgery {
  std::string name, vars, contract, source, target, mutant, problem;
};

// "rule forged(vars) contract { source } => { target }", with a proof record that says that the
// rule is proved. `target` replaces f.target.
Substitution RuleOf(const Forgery& f, const std::string& target);
// The text of a graph that contains the source once. Its inputs have the types of the rule's
// variables.
std::string GraphText(const Forgery& f);
// The problem that the checker finds in a certificate with one step by the rule; "" if the checker
// accepts the certificate. The certificate claims that the mutant differs from the source exactly
// in `box`. The default box is a whole output of shape [5,4].
std::string ProblemOf(const Forgery& f, const CertificateMutant::Box& box = {{0, 5, 1}, {0, 4, 1}});

constexpr char kForgedVars[] = "x: f32[5,4], y: f32[5,4]";
// A reassociates rule with the variables kForgedVars and the source z = x·y. Its target computes
// a = x·y, and then its output z from a by `statements`. The mutant is z = x + y.
Forgery ForgedProduct(const std::string& name, const std::string& statements,
                      const std::string& problem);

// A copy of the case in which parts of the two graphs' texts are replaced. Each pair in `input` and
// in `output` is a part of the text and its replacement. The certificate, which must have one step
// and no folds, gets the hashes of the new graphs. Then `change` may change the certificate.
using Texts = std::vector<std::pair<std::string, std::string>>;
CertificateCase Resigned(const CertificateCase& files, const Texts& input, const Texts& output,
                         const std::function<void(Certificate*)>& change);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CERTIFICATE_FORGERY_H_
