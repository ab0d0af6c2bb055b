// Writes the results of the commands on files of rules as JSON. RuleJson (api/rules/export.h)
// writes a single rule.
#ifndef LEMMA_API_JSON_RULES_H_
#define LEMMA_API_JSON_RULES_H_

#include <string>
#include <vector>

#include "api/rules/explain.h"
#include "api/rules/import_taso.h"
#include "api/rules/prune_file.h"
#include "api/rules/stats.h"
#include "base/json.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

// Each function returns an object with file, the name of the file with the rules, and the members
// that its own comment lists.

// rules: a list of the objects of RuleJson.
Json ToJson(const std::string& file, const std::vector<const Substitution*>& rules);
// The fields of RuleStats by their names.
Json ToJson(const std::string& file, const RuleStats& stats);
// rules, kept and left_out: numbers of rules.
Json ToJson(const std::string& file, const PrunedFile& pruned);
// seconds; rules: a list with rule (its name), guard, without_guard (a verdict), note, written,
// text and the members of AddOutcome (api/json/proofs.h).
Json ToJson(const std::string& file, const ImportedTaso& imported);
// unused: the number of rules that derivations may not use; rules: a list with rule (its name),
// in_file, about (RuleJson, of a rule of the file), left_out, found, answer, same_as, and typings
// with the derivations at each choice of sizes.
Json ToJson(const Explanations& explanations);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_RULES_H_
