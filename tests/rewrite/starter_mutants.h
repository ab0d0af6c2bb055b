// Makes mutants of the starter rules (data/rules/starter.txt): a mutant is a rule with a small
// change that makes it false. Tests expect that the checks of rules find the mutants false.
#ifndef LEMMA_TESTS_REWRITE_STARTER_MUTANTS_H_
#define LEMMA_TESTS_REWRITE_STARTER_MUTANTS_H_

#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// An edit that makes the rule with the name `rule` false: the text `from` is replaced by `to`. In
// data/rules/starter.txt, it is the line "# mutant: FROM -> TO" above the rule.
struct Mutation {
  std::string rule, from, to;
};

// The edits in data/rules/starter.txt.
std::vector<Mutation> StarterMutations();

// The text of the rule with every mutation.from replaced by mutation.to: in the target or, if the
// target does not contain `from`, in the text before the target. The test fails if neither contains
// `from`.
std::string Mutate(const Substitution& rule, const Mutation& mutation);

}  // namespace lemma

#endif  // LEMMA_TESTS_REWRITE_STARTER_MUTANTS_H_
