// Reads files of rules, and selects rules by name.
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

// Reads a file; "" stands for the built-in rules. Messages begin with the file's name.
absl::StatusOr<RulesFile> LoadRulesFile(const std::string& path);

// The path of the rules that were removed from the file because they follow from its other rules:
// "rules.pruned.txt" for "rules.txt".
std::string PrunedRulesPath(const std::string& path);

// InvalidArgument, with similar names if any, if a name belongs to no rule.
absl::Status CheckRuleNames(const std::vector<std::string>& names, const RulesFile& file);

// The named rules in the file's order, or all rules if `names` is empty. Errors as in
// CheckRuleNames.
absl::StatusOr<std::vector<const Substitution*>> NamedRules(const RulesFile& file,
                                                            const std::vector<std::string>& names);

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_RULES_FILE_H_
