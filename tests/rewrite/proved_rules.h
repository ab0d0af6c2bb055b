// Reads the shipped rules.
#ifndef LEMMA_TESTS_REWRITE_PROVED_RULES_H_
#define LEMMA_TESTS_REWRITE_PROVED_RULES_H_

#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// The proved rules of a file of data/rules. `prefix` goes before their names, to tell the rules of
// several files apart.
std::vector<Substitution> ProvedRules(const std::string& file, const std::string& prefix = "");

}  // namespace lemma

#endif  // LEMMA_TESTS_REWRITE_PROVED_RULES_H_
