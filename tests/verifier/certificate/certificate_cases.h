// Builds certificates (docs/certificates.md) for tests to check and to tamper with.
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

// The contents of the three files that `lemma check` reads.
struct CertificateCase {
  std::string input, output;  // graphs in the text form
  std::string certificate;
};

// The rules of data/rules/starter.txt.
const std::vector<Substitution>& StarterRules();

// The graph of `text`, which must be valid.
Graph GraphOf(const std::string& text);

// The source of a random rule of `rules`, as a graph with small random sizes; nullopt if no sizes
// were found.
std::optional<Graph> RandomInstance(const std::vector<Substitution>& rules, uint64_t seed);

// The case for an optimization of `graph` that consists of up to `steps` random rewrites by `rules`
// and, if there is any rewrite, of constant folding. Weights without values get values first.
CertificateCase RandomWalk(const Graph& graph, const std::vector<Substitution>& rules, int steps,
                           uint64_t seed);
// As RandomWalk, but `graph` is a text, and the rewrites are by the rules with these names, in
// order, each at its first match. Weights without values stay as they are.
CertificateCase Walk(const std::string& graph, const std::vector<Substitution>& rules,
                     const std::vector<std::string>& names);

// Checks the three files; only the starter rules are trusted. Returns the problem that the check
// finds; "" if there is none.
std::string Problem(const CertificateCase& files);
// The same with other trusted rules: `why_untrusted` returns "" for a trusted rule, and otherwise
// says why the rule is not trusted.
std::string Problem(const CertificateCase& files,
                    const std::function<std::string(const Substitution&)>& why_untrusted);

// The case with its certificate changed by `change` and written again with a correct checksum.
CertificateCase Changed(const CertificateCase& files,
                        const std::function<void(Certificate*)>& change);
// The text of a certificate in which the checksum is replaced by the correct one.
std::string WithChecksum(const std::string& certificate);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CERTIFICATE_CERTIFICATE_CASES_H_
