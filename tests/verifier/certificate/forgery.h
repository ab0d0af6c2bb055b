// Certificates as somebody writes them who wants a false or too strict claim accepted: each with a
// current record, a right checksum and right hashes.
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

// A rule, and what its author says it was made of.
struct Forgery {
  std::string name, vars, contract, source, target, mutant, problem;
};

// "rule forged(vars) contract { source } => { target }", with a record as if it were proved.
Substitution RuleOf(const Forgery& f, const std::string& target);
// A graph that the source is in once, at inputs of the rule's own types.
std::string GraphText(const Forgery& f);
// What the checker says of one step by the rule as a corrected mutant, which differs from its
// source at the box; "" if it accepts it. The rule's output is f32[5,4] unless a box is given.
std::string ProblemOf(const Forgery& f, const CertificateMutant::Box& box = {{0, 5, 1}, {0, 4, 1}});

constexpr char kForgedVars[] = "x: f32[5,4], y: f32[5,4]";
// x·y by way of `statements`, which make of a = x·y what is returned as z.
Forgery ForgedProduct(const std::string& name, const std::string& statements,
                      const std::string& problem);

// Other texts and another certificate, of one step that folds nothing, with hashes that fit them.
using Texts = std::vector<std::pair<std::string, std::string>>;
CertificateCase Resigned(const CertificateCase& files, const Texts& input, const Texts& output,
                         const std::function<void(Certificate*)>& change);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CERTIFICATE_FORGERY_H_
