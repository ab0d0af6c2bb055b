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
// The fields of RuleStats under their names; sizes is a list of objects with source and target
// (numbers of operators) and rules (the number of rules).
Json ToJson(const std::string& file, const RuleStats& stats);
// rules, kept and left_out: numbers of rules.
Json ToJson(const std::string& file, const PrunedFile& pruned);
// seconds; rules: a list with rule (its name), guard, note and written (as in ImportedRule),
// without_guard (an object with the members of AddVerdict), text (the whole rule) and the members
// of AddOutcome (api/json/proofs.h).
Json ToJson(const std::string& file, const ImportedTaso& imported);
// unused: the number of rules that derivations may not use; rules: a list with rule (its name),
// in_file (ExplainedRule::is_member), found and answer. A rule of the file also has about (an
// object of RuleJson). left_out, same_as and typings are absent if the fields of ExplainedRule are
// empty. typings is a list with at and graphs (as in DerivationAtSizes) and, if a derivation was
// found, source and steps.
Json ToJson(const Explanations& explanations);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_RULES_H_
