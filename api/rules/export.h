// Exports rules as text, JSON or DOT, for other programs.
#ifndef LEMMA_API_RULES_EXPORT_H_
#define LEMMA_API_RULES_EXPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

// An object with rule (its name), contract, doc, guard, source and target (texts with the names of
// the operators), text, and of its proof record: record (the verdict), id, detail, proved_contract
// (if proved), usable and `problem`, which is ProofProblem (rewrite/rules/proof_check.h).
Json RuleJson(const Substitution& rule, const std::string& problem);

// The rules of a file or built-in set (LoadRulesFile), or those named, in a format: "text", which
// LoadRulesFile reads as the same rules; "json", the objects of RuleJson with both sides as lists
// of nodes; or "dot", a cluster for each rule, with a cluster for each side in it. InvalidArgument
// for an unknown rule or format.
absl::StatusOr<std::string> ExportRules(const std::string& rules,
                                        const std::vector<std::string>& names = {},
                                        const std::string& format = "text");

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_EXPORT_H_
