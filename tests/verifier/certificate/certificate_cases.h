// Certificates to check and to tamper with.
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

// Three files.
struct CertificateCase {
  std::string input, output;  // graphs in the text form
  std::string certificate;
};

// data/rules/starter.txt
const std::vector<Substitution>& StarterRules();

Graph GraphOf(const std::string& text);

// A small instance of a random rule's source; nullopt if the rule has none.
std::optional<Graph> RandomInstance(const std::vector<Substitution>& rules, uint64_t seed);

// The certificate of what random rewrites, as many as there are up to `steps`, make of the graph,
// whose weights without values get some.
CertificateCase RandomWalk(const Graph& graph, const std::vector<Substitution>& rules, int steps,
                           uint64_t seed);
// The same for rewrites by these rules, the first that matches of each.
CertificateCase Walk(const std::string& graph, const std::vector<Substitution>& rules,
                     const std::vector<std::string>& names);

// What `lemma check` says of the three, the starter rules being believed: "" if they are right.
std::string Problem(const CertificateCase& files);
// The same where `disbelieve` says why a rule is not believed; "" if it is.
std::string Problem(const CertificateCase& files,
                    const std::function<std::string(const Substitution&)>& disbelieve);

// The case with its certificate changed, and written anew with a right checksum.
CertificateCase Changed(const CertificateCase& files,
                        const std::function<void(Certificate*)>& change);
// The certificate's text with the checksum of what now stands before it.
std::string WithChecksum(const std::string& certificate);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CERTIFICATE_CERTIFICATE_CASES_H_
