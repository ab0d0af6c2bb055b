// Files of rules.
#ifndef LEMMA_API_RULES_RULES_FILE_H_
#define LEMMA_API_RULES_RULES_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

struct RulesFile {
  std::string name;  // its path, or "built-in rules"
  std::string text;
  std::vector<Substitution> rules;  // at least one
};

// "" stands for the built-in rules. Messages begin with the file's name.
absl::StatusOr<RulesFile> LoadRulesFile(const std::string& path);

// Where the rules are that were left out of such a file because they follow from it:
// "rules.pruned.txt" for "rules.txt".
std::string PrunedRulesPath(const std::string& path);

// InvalidArgument, with near names where there are some, if a name is no rule's.
absl::Status CheckRuleNames(const std::vector<std::string>& names, const RulesFile& file);

// The rules of the names, in the file's order; all if there are no names. Errors as CheckRuleNames.
absl::StatusOr<std::vector<const Substitution*>> NamedRules(const RulesFile& file,
                                                            const std::vector<std::string>& names);

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_RULES_FILE_H_
