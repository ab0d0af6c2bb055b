// Explains how a rule follows from the rules of a file, or that no derivation was found.
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
  // A file of rules removed from `rules` because they follow from others. Names are looked up there
  // too. "": the file PrunedRulesPath(rules), if it exists.
  std::string pruned;
  int64_t max_steps = 6;       // limit on the length of a derivation, 1 … 64
  int64_t max_graphs = 20000;  // limit on graphs per choice of sizes, 1 … 2^30
  int64_t typings = 3;         // how many choices of sizes to try, 1 … 20
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
  std::string at;      // the sizes: "m = 2, k = 3"
  int64_t graphs = 0;  // that the search has seen
  bool found = false;
  Graph source;             // if found
  std::vector<Step> steps;  // to the target; empty if both sides are the same graph
  std::string summary;      // "3 steps: gen_1, gen_4 backward, gen_2"
};

struct ExplainedRule {
  Substitution rule;
  bool is_member = false;  // whether it is a rule of the file
  std::string problem;     // of a member: why it may not be used (ProofProblem); "" if it may
  std::string left_out;    // of a removed rule: "follows from: a, b", if known
  bool found = false;      // whether it follows from the others at each choice of sizes
  std::string same_as;     // the rule of the file that equals it up to names; "" if none
  std::string answer;      // one line: how it follows, or that no derivation was found
  std::vector<DerivationAtSizes> typings;  // empty if there are no sizes to try
};

struct Explanations {
  RulesFile file;
  // The other rules of the file that derivations may not use, and why (ProofProblem).
  std::map<std::string, std::string> unused;
  std::vector<ExplainedRule> rules;

  // Whether each explained rule outside the file was found to follow.
  bool all_follow() const;
};

// `what` is the name of a rule of the file or of a removed rule, or else another file of rules.
// Derivations use proved rules only; a rule of the file is derived from the others. InvalidArgument
// if `what` is neither such a rule nor such a file.
absl::StatusOr<Explanations> Explain(const std::string& rules, const std::string& what,
                                     const ExplainOptions& options = {});

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_EXPLAIN_H_
