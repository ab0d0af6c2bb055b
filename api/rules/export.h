// Exports rules as text, JSON or DOT, for other programs.
#ifndef LEMMA_API_RULES_EXPORT_H_
#define LEMMA_API_RULES_EXPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

// A rule with its record, operators and text. `problem` is ProofProblem of the rule
// (rewrite/rules/proof_check.h).
Json RuleJson(const Substitution& rule, const std::string& problem);

// The rules of a file, or the named ones, in the format "text" (which reads back as the same
// rules), "json" (both sides as lists of nodes) or "dot" (a cluster per rule, with one cluster per
// side inside). InvalidArgument for an unknown rule or format.
absl::StatusOr<std::string> ExportRules(const std::string& rules,
                                        const std::vector<std::string>& names = {},
                                        const std::string& format = "text");

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_EXPORT_H_
