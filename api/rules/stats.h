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
    int source = 0, target = 0;  // numbers of rules whose source, or target, has the operator
  };
  // Numbers of rules. usable: rules with a current proof that searches may use (ProofProblem in
  // rewrite/rules/proof_check.h); those with the contract `bounded` are not. guarded: rules with a
  // guard. several_outputs: rules with more than one output.
  int rules = 0, usable = 0, guarded = 0, several_outputs = 0;
  // Numbers of rules. records: by the verdict in the proof record; "stale" if the record proves
  // another statement, or less than the rule promises. contracts: by float contract. kinds: by how
  // the rule changes operators: "associates" (both sides have the same operators, all of one
  // kind), "commutes" (the same operators, of several kinds), "fewer operators", "more operators",
  // "other operators" (as many as before, but not the same).
  std::map<std::string, int> records, contracts, kinds;
  // By the number of operators of the source and of the target: the number of rules.
  std::map<std::pair<int, int>, int> sizes;
  std::map<std::string, OperatorUse> operators;  // by the operator's name
};

RuleStats StatsOf(const std::vector<Substitution>& rules);
// The counts for people, as tables.
std::string TextOf(const RuleStats& stats);

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_STATS_H_
