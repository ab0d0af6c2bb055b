// Reads the rules that Lemma ships in data/rules.
#ifndef LEMMA_TESTS_REWRITE_PROVED_RULES_H_
#define LEMMA_TESTS_REWRITE_PROVED_RULES_H_

#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// The rules of data/rules/`file` whose proof records (docs/proofs.md) say that they are proved.
// `prefix` is put before their names, to tell the rules of several files apart. If the file is
// invalid, the test fails.
std::vector<Substitution> ProvedRules(const std::string& file, const std::string& prefix = "");

}  // namespace lemma

#endif  // LEMMA_TESTS_REWRITE_PROVED_RULES_H_
