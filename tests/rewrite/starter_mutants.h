// Makes mutants of the starter rules: slightly changed rules that are false, and that tests must
// find false.
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

// The text of the rule with every `from` replaced by `to` in the target or, if the target does not
// contain `from`, in the head and the source. The test fails if the rule does not contain it.
std::string Mutate(const Substitution& rule, const Mutation& mutation);

}  // namespace lemma

#endif  // LEMMA_TESTS_REWRITE_STARTER_MUTANTS_H_
