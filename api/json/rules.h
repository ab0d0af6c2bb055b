// Writes what commands find out about a file of rules as JSON. RuleJson (api/rules/export.h) writes
// a single rule.
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

// `file` is where the rules come from.
Json ToJson(const std::string& file, const std::vector<const Substitution*>& rules);
Json ToJson(const std::string& file, const RuleStats& stats);
Json ToJson(const std::string& file, const PrunedFile& pruned);
Json ToJson(const std::string& file, const ImportedTaso& imported);
Json ToJson(const Explanations& explanations);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_RULES_H_
