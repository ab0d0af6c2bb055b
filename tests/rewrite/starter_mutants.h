// False neighbours of the starter rules, which tests must find false.
#ifndef LEMMA_TESTS_REWRITE_STARTER_MUTANTS_H_
#define LEMMA_TESTS_REWRITE_STARTER_MUTANTS_H_

#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// An edit of a rule that makes it false: "# mutant: FROM -> TO" above the rule in its file.
struct Mutation {
  std::string rule, from, to;
};

// The edits in data/rules/starter.txt.
std::vector<Mutation> StarterMutations();

// The text of the rule with the edit applied: to the target if that holds `from`, otherwise to the
// head and the source; every occurrence is replaced. The test fails if the rule does not hold it.
std::string Mutate(const Substitution& rule, const Mutation& mutation);

}  // namespace lemma

#endif  // LEMMA_TESTS_REWRITE_STARTER_MUTANTS_H_
