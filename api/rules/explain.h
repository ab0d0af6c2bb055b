// Why a rule is among those of a file, or how they give it.
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
  // A file of rules that were left out, to look for names in; "": PrunedRulesPath of the rules, if
  // it is there.
  std::string pruned;
  int64_t max_steps = 6;       // applications of rules in a row, 1 … 64
  int64_t max_graphs = 20000;  // looked at for each of the sizes, 1 … 2^30
  int64_t typings = 3;         // how many assignments of sizes to try, 1 … 20
  // Before each rule of a file that is asked about.
  std::function<void(int done, int all)> progress;

  absl::Status Check() const;  // InvalidArgument names the option
};

// A derivation at some sizes (rewrite/derivation/derive.h).
struct DerivationAtSizes {
  struct Step {
    std::string rule;
    bool backward = false;  // from the rule's target to its source
    Graph graph;            // after the step
  };
  std::string at;      // the sizes: "m = 2, k = 3"
  int64_t graphs = 0;  // seen
  bool found = false;
  Graph source;             // if it is found
  std::vector<Step> steps;  // to the target; none: both sides are one graph
  std::string summary;      // "3 steps: gen_1, gen_4 backward, gen_2"
};

struct ExplainedRule {
  Substitution rule;
  bool is_member = false;  // of the file
  std::string problem;     // of a member: why its record does not let it be used; "" if it does
  std::string left_out;    // of a rule that was left out: "follows from: a, b", if that is known
  bool found = false;      // whether the others give it, at all sizes that were tried
  std::string same_as;     // the rule of the file that it is up to names; "" if none
  std::string answer;      // one line: how they give it, or that they are not found to
  std::vector<DerivationAtSizes> typings;  // empty if there are no sizes to try
};

struct Explanations {
  RulesFile file;
  std::map<std::string, std::string> unused;  // why the records of other rules do not let them be
                                              // used, by name
  std::vector<ExplainedRule> rules;

  // Whether each rule that is no member was found to follow.
  bool all_follow() const;
};

// `what` is the name of a rule of the file or of those left out, or else another file of rules.
// Only proved rules are used, and a member is derived from the others. InvalidArgument if there is
// neither such a rule nor such a file.
absl::StatusOr<Explanations> Explain(const std::string& rules, const std::string& what,
                                     const ExplainOptions& options = {});

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_EXPLAIN_H_
