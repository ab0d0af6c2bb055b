// Reads files of rules, and selects rules by name.
#ifndef LEMMA_API_RULES_RULES_FILE_H_
#define LEMMA_API_RULES_RULES_FILE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rewrite/rules/rule_text.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

struct RulesFile {
  // Its path, "built-in rules" or "built-in starter rules"; for a list, these names with ", "
  // between them.
  std::string name;
  std::string text;  // its contents; empty for the set "all" and for a list (see TextOf)
  std::vector<Substitution> rules;  // at least one
  // Whether the rules are part of the program; false for a list. The proof records of such rules
  // are current, because Lemma's tests check this.
  bool is_builtin = false;
  // The late rules (docs/glossary.md) have the positions first, …, second - 1 in `rules`. Only the
  // set "all", also in a list, has late rules: the generated ones.
  std::pair<size_t, size_t> late = {0, 0};
};

// The names of the built-in sets of rules. For a file that has such a name, write a path such as
// "./all".
constexpr char kAllRules[] = "all";          // rules written by hand, and generated rules
constexpr char kStarterRules[] = "starter";  // only the rules written by hand

// Reads a file, a built-in set ("" stands for "all"), or a list of these with commas between them.
// A path with a comma is a list unless a file has this path. NotFound if a file does not exist.
// InvalidArgument if a file is not text, has no rules, or is not well-formed, or if different rules
// of a list have one name. Messages about a file begin with its name.
//
// A list gives the rules of each entry in turn. In the set "all", rules written
// by hand come before generated rules, and a generated rule is named FILE_NAME:
// the name of the built-in file, then the rule's name in the file. If rules are
// equal up to names (rewrite/rules/canonical_text.h), the set "all" keeps only
// the first of them. If rules have the same name and the same text, a list
// keeps only the first of them. Rules with the contract `bounded` are an error
// unless `kinds` allows them.
absl::StatusOr<RulesFile> LoadRulesFile(const std::string& path,
                                        RuleKinds kinds = RuleKinds::kEqualities);

// A text that ParseRules reads as the file's rules: RulesFile::text or, if it is empty, the rules
// printed one after the other.
std::string TextOf(const RulesFile& file);

// The path of the rules that were removed from the file because they follow from its other rules:
// "rules.pruned.txt" for "rules.txt".
std::string PrunedRulesPath(const std::string& path);
// `path` is as in LoadRulesFile. Returns PrunedRulesPath of the file or, for a
// list, of each file in the list; leaves out paths at which there is no file.
// Built-in sets have none.
std::vector<std::string> PrunedRulesFiles(const std::string& path);

// InvalidArgument, with similar names if any, if a name belongs to no rule.
absl::Status CheckRuleNames(const std::vector<std::string>& names, const RulesFile& file);

// The named rules in the file's order, or all rules if `names` is empty. The pointers point into
// `file`. Errors as in CheckRuleNames.
absl::StatusOr<std::vector<const Substitution*>> NamedRules(const RulesFile& file,
                                                            const std::vector<std::string>& names);

// The rules for people. TableOf gives a table with records, contracts and
// operators, then the rules that may not be used, and the counts. PageOf gives
// each rule in full, with a comment that says whether it may be used
// (ProofProblem in rewrite/rules/proof_check.h).
std::string TableOf(const RulesFile& file);
std::string PageOf(const std::vector<const Substitution*>& rules);

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_RULES_FILE_H_
