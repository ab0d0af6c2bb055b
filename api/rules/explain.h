// Explains how a rule follows from the rules of a file, or says that no derivation was found.
#ifndef LEMMA_API_RULES_EXPLAIN_H_
#define LEMMA_API_RULES_EXPLAIN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/rules/rules_file.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

struct ExplainOptions {
  // A file of rules that were removed from the file `rules` (see Explain),
  // because they follow from other rules; `what` may name one of them. "":
  // PrunedRulesFiles(rules) (api/rules/rules_file.h). If several of these files
  // have a rule with the name `what`, the first of these rules is meant.
  std::string pruned;
  int64_t max_steps = 6;       // limit on the length of a derivation, 1 … 64
  int64_t max_graphs = 20000;  // limit on the graphs visited per choice of sizes, 1 … 2^30
  int64_t typings = 3;         // number of choices of sizes to try, 1 … 20
  // Called before each explained rule, if `what` is a file.
  std::function<void(int done, int all)> progress;

  absl::Status Check() const;  // InvalidArgument names the option
};

// A derivation at one choice of sizes (rewrite/derivation/derive.h).
struct DerivationAtSizes {
  struct Step {
    std::string rule;
    bool backward = false;  // from the rule's target to its source
    Graph graph;            // after the step
  };
  std::string at;           // the sizes: "m = 2, k = 3"
  int64_t graphs = 0;       // number of graphs that the search visited
  bool found = false;       // the fields below are set only if it is true
  Graph source;             // the rule's source
  std::vector<Step> steps;  // to the rule's target; empty if both sides are the same graph
  std::string summary;      // "3 steps: gen_1, gen_4 backward, gen_2"
};

struct ExplainedRule {
  Substitution rule;
  bool is_member = false;  // whether it is a rule of the file `rules` (see Explain)
  // For a member: why derivations may not use it (ProofProblem in rewrite/rules/proof_check.h); ""
  // if they may.
  std::string problem;
  std::string left_out;  // for a removed rule: "follows from: a, b", if known; otherwise ""
  bool found = false;    // whether a derivation was found at each choice of sizes
  // The rule of the file that equals this rule up to names, the order of
  // commutative operands, and the choice of the side that is the source. The
  // rules were compared at the sizes tried only (AreTheSame in
  // rewrite/derivation/derive.h). Roles of variables and float contracts are
  // not compared. "" if no such rule was found.
  std::string same_as;
  std::string answer;  // one line: how it follows, or that no derivation was found
  std::vector<DerivationAtSizes> typings;  // empty if there are no sizes to try
};

struct Explanations {
  RulesFile file;
  // The rules of the file that derivations may not use, by name, and why (ProofProblem).
  std::map<std::string, std::string> unused;
  std::vector<ExplainedRule> rules;  // the one rule `what`, or all rules of the file `what`

  // Whether a derivation was found for each explained rule that is not a member.
  bool all_follow() const;
};

// `rules` is as in LoadRulesFile. `what` is the name of one of its rules, the name of a removed
// rule (ExplainOptions::pruned), or the path of another file of rules, which are all explained.
// Derivations use proved rules of `rules` only; a rule of `rules` is derived from the other rules.
// InvalidArgument if `what` is neither such a rule nor a file.
absl::StatusOr<Explanations> Explain(const std::string& rules, const std::string& what,
                                     const ExplainOptions& options = {});
// The explanations for people, with the graphs of derivations. `brief`: one line for each rule,
// without graphs.
std::string TextOf(const Explanations& explanations, bool brief = false);

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_EXPLAIN_H_
