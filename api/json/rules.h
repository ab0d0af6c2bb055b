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

// Each is an object with `file`, the name of the file with the rules.

// Also rules, a list of the objects of RuleJson.
Json ToJson(const std::string& file, const std::vector<const Substitution*>& rules);
// Also the fields of RuleStats by their names.
Json ToJson(const std::string& file, const RuleStats& stats);
// Also rules, kept and left_out: numbers of rules.
Json ToJson(const std::string& file, const PrunedFile& pruned);
// Also seconds, and rules, a list with guard, outcome, verdict without the guard, and text of each.
Json ToJson(const std::string& file, const ImportedTaso& imported);
// Also unused, the number of rules that could not be used, and rules, a list with a derivation of
// each explained rule, if one was found.
Json ToJson(const Explanations& explanations);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_RULES_H_
