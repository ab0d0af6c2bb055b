// Reads files of rules, and selects rules by name.
#ifndef LEMMA_API_RULES_RULES_FILE_H_
#define LEMMA_API_RULES_RULES_FILE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

struct RulesFile {
  std::string name;                 // its path, or "built-in rules", or "built-in starter rules"
  std::string text;                 // empty for all built-in rules: see TextOf
  std::vector<Substitution> rules;  // at least one
  // The rules are part of the program, whose tests compare the ids of their proof records with the
  // current ids.
  bool is_builtin = false;
  // The positions of the late rules (docs/glossary.md): from `first` to before `second`. Only the
  // set of all built-in rules has some: the generated rules.
  std::pair<size_t, size_t> late = {0, 0};
};

// The names of the built-in sets of rules. "./all" is a file with one of these names.
constexpr char kAllRules[] = "all";          // written by hand and generated
constexpr char kStarterRules[] = "starter";  // written by hand

// Reads a file, or a built-in set; "" stands for all built-in rules. InvalidArgument if the file is
// not text, is empty, or is not well-formed. Messages begin with the file's name. If built-in rules
// are equal up to names (rewrite/rules/canonical_text.h), only the first is kept; rules written by
// hand come before generated rules. A generated built-in rule is named FILE_NAME after its file and
// its name there.
absl::StatusOr<RulesFile> LoadRulesFile(const std::string& path);

// A text that ParseRules reads as the file's rules: RulesFile::text or, if it is empty, the rules
// printed one after the other.
std::string TextOf(const RulesFile& file);

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
