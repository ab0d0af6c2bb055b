// What the subcommands of `lemma rules` say of one rule.
#ifndef LEMMA_CLI_RULE_REPORT_H_
#define LEMMA_CLI_RULE_REPORT_H_

#include <string>

#include "base/json.h"
#include "rewrite/rules/rule_text.h"
#include "rewrite/rules/substitution.h"

namespace lemma::cli {

// `problem`: ProofProblem of the rule.
Json RuleJson(const Substitution& rule, const std::string& problem);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_RULE_REPORT_H_
