// Counts rules by kind.
#ifndef LEMMA_API_RULES_STATS_H_
#define LEMMA_API_RULES_STATS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma::api {

struct RuleStats {
  struct OperatorUse {
    int source = 0, target = 0;  // rules that have the operator on that side
  };
  // usable: rules with a current proof (ProofProblem in rewrite/rules/proof_check.h). guarded:
  // rules that hold under a condition. several_outputs: rules of more than one output.
  int rules = 0, usable = 0, guarded = 0, several_outputs = 0;
  // Numbers of rules by the verdict in their records ("stale" if the record proves another
  // statement, or less than the rule promises), by float contract, and by change of operators:
  // "associates" (both sides have the same operators, all of one kind), "commutes" (the same
  // operators, of several kinds), "fewer operators", "more operators", "other operators" (as many).
  std::map<std::string, int> records, contracts, kinds;
  std::map<std::pair<int, int>, int> sizes;      // by numbers of operators of source and target
  std::map<std::string, OperatorUse> operators;  // by the operator's name
};

RuleStats StatsOf(const std::vector<Substitution>& rules);

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_STATS_H_
