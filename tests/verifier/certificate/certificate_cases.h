// Builds certificates to check and to tamper with.
#ifndef LEMMA_TESTS_VERIFIER_CERTIFICATE_CERTIFICATE_CASES_H_
#define LEMMA_TESTS_VERIFIER_CERTIFICATE_CERTIFICATE_CASES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/certificate.h"

namespace lemma {

// The contents of three files.
struct CertificateCase {
  std::string input, output;  // graphs in the text form
  std::string certificate;
};

// data/rules/starter.txt
const std::vector<Substitution>& StarterRules();

Graph GraphOf(const std::string& text);

// A small instance of a random rule's source; nullopt if the rule has none.
std::optional<Graph> RandomInstance(const std::vector<Substitution>& rules, uint64_t seed);

// The certificate of up to `steps` random rewrites of the graph. Weights without values get some.
CertificateCase RandomWalk(const Graph& graph, const std::vector<Substitution>& rules, int steps,
                           uint64_t seed);
// The same for rewrites by the named rules, each at its first match.
CertificateCase Walk(const std::string& graph, const std::vector<Substitution>& rules,
                     const std::vector<std::string>& names);

// The problem that `lemma check` reports for the three files if it trusts the starter rules; "" if
// there is none.
std::string Problem(const CertificateCase& files);
// The same. `why_untrusted` says why a rule is not trusted; "" if it is.
std::string Problem(const CertificateCase& files,
                    const std::function<std::string(const Substitution&)>& why_untrusted);

// The case with its certificate changed and written again with a correct checksum.
CertificateCase Changed(const CertificateCase& files,
                        const std::function<void(Certificate*)>& change);
// The certificate's text with the checksum of its present content.
std::string WithChecksum(const std::string& certificate);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CERTIFICATE_CERTIFICATE_CASES_H_
