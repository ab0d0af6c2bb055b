// Forges certificates for claims that are false or too strict, each with a current record, a
// correct checksum and correct hashes.
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

// A rule in parts of its text, with the target of the mutant that its author claims as its origin,
// and a part of the message with which the checker refuses it (`problem`).
struct Forgery {
  std::string name, vars, contract, source, target, mutant, problem;
};

// "rule forged(vars) contract { source } => { target }", with a record that says it is proved.
Substitution RuleOf(const Forgery& f, const std::string& target);
// A graph that contains the source once, at inputs of the rule's own types.
std::string GraphText(const Forgery& f);
// The checker's answer to one step by the rule as a corrected mutant that differs from its source
// in the box; "" if it accepts the step. The default box fits an output f32[5,4].
std::string ProblemOf(const Forgery& f, const CertificateMutant::Box& box = {{0, 5, 1}, {0, 4, 1}});

constexpr char kForgedVars[] = "x: f32[5,4], y: f32[5,4]";
// A rule for x·y: `statements` compute z, the target's output, from a = x·y.
Forgery ForgedProduct(const std::string& name, const std::string& statements,
                      const std::string& problem);

// A copy of the case, whose certificate must have one step and no folds. Texts in the two graphs
// are replaced as `input` and `output` say, and the certificate gets the hashes of the new graphs.
// Then `change` may change it.
using Texts = std::vector<std::pair<std::string, std::string>>;
CertificateCase Resigned(const CertificateCase& files, const Texts& input, const Texts& output,
                         const std::function<void(Certificate*)>& change);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CERTIFICATE_FORGERY_H_
