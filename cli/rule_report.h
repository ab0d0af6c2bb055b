// What the subcommands of `lemma rules` say of one rule.
#ifndef LEMMA_CLI_RULE_REPORT_H_
#define LEMMA_CLI_RULE_REPORT_H_

#include <string>

#include "base/json.h"
#include "rewrite/rules/substitution.h"

namespace lemma::cli {

// "concat + matmul + split"; "nothing".
std::string Operators(const Pattern& pattern);
// Applications of operators; constants are none.
int CountOperators(const Pattern& pattern);
// "g = 2, p <= 1"; "" if there is none.
std::string GuardText(const Substitution& rule);
// `problem`: ProofProblem of the rule.
Json RuleJson(const Substitution& rule, const std::string& problem);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_RULE_REPORT_H_
