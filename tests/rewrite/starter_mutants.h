// Makes mutants of the starter rules: rules that a small change makes false. Tests expect that they
// are found to be false.
#ifndef LEMMA_TESTS_REWRITE_STARTER_MUTANTS_H_
#define LEMMA_TESTS_REWRITE_STARTER_MUTANTS_H_

#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// An edit that makes the rule with the name `rule` false: the text `from` is replaced by `to`. In
// the file, "# mutant: FROM -> TO" stands above the rule.
struct Mutation {
  std::string rule, from, to;
};

// The edits in data/rules/starter.txt.
std::vector<Mutation> StarterMutations();

// The text of the rule with every `from` replaced by `to`: in the target or, if the target does not
// contain `from`, in the head and the source. The test fails if neither contains `from`.
std::string Mutate(const Substitution& rule, const Mutation& mutation);

}  // namespace lemma

#endif  // LEMMA_TESTS_REWRITE_STARTER_MUTANTS_H_
