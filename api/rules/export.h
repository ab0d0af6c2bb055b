// Rules for other programs: as text, JSON or DOT.
#ifndef LEMMA_API_RULES_EXPORT_H_
#define LEMMA_API_RULES_EXPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

// A rule with its record, its operators and its text. `problem`: ProofProblem of the rule.
Json RuleJson(const Substitution& rule, const std::string& problem);

// The rules of a file, or those named, in the format "text" (which reads back as the same rules),
// "json" (with both sides as lists of nodes) or "dot" (a cluster for each rule, with one for each
// side). InvalidArgument if there is no such rule or format.
absl::StatusOr<std::string> ExportRules(const std::string& rules,
                                        const std::vector<std::string>& names = {},
                                        const std::string& format = "text");

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_EXPORT_H_
