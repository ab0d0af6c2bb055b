// Exports rules as text, JSON or DOT, for other programs.
#ifndef LEMMA_API_RULES_EXPORT_H_
#define LEMMA_API_RULES_EXPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

// A JSON object that describes the rule. Its members are rule (the rule's name), contract, doc,
// guard, source and target (the names of the operators, as one text each), text (the whole rule),
// and from the proof record: record (the verdict), id, detail and, if proved, proved_contract.
// `problem` is ProofProblem(rule) (rewrite/rules/proof_check.h). It becomes the member problem; the
// member usable says whether it is empty.
Json RuleJson(const Substitution& rule, const std::string& problem);

// Returns the rules with these names, or all rules if `names` is empty, in the
// file's order. `rules` is as in LoadRulesFile (api/rules/rules_file.h); rules
// with the contract `bounded` are allowed. Formats:
//   - "text", which LoadRulesFile reads as the same rules;
//   - "json", an object whose member rules is a list. It has the object of
//     RuleJson for each rule, with the rule's variables and both sides (as
//     lists of nodes) as further members;
//   - "dot", a cluster for each rule, with a cluster for each side in it.
// InvalidArgument for an unknown name or format. Other errors as in
// LoadRulesFile.
absl::StatusOr<std::string> ExportRules(const std::string& rules,
                                        const std::vector<std::string>& names = {},
                                        const std::string& format = "text");

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_EXPORT_H_
