// lemma optimize --why-not: where a rule could stand, and why it was not applied there.
#ifndef LEMMA_CLI_WHY_NOT_H_
#define LEMMA_CLI_WHY_NOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "graph/graph.h"
#include "optimizer/cost/cost_model.h"
#include "optimizer/cost/objective.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/matching/why_not.h"

namespace lemma::cli {

// Operators at which the answer is the same.
struct WhyNotGroup {
  Missing missing = Missing::kNothing;
  std::string reason;
  int held = 0;
  bool alone = false;
  std::vector<std::string> places;  // labels, or positions in the graph
  // If the rule applies: how the predicted time and peak memory of the graph change, at least and
  // at most over the places; absent: it was not priced.
  struct Change {
    double least_ms = 0, most_ms = 0;
    int64_t least_bytes = 0, most_bytes = 0;
  };
  std::optional<Change> change;
};

struct WhyNotGraph {
  // Applications of the operator that the rule ends in, but those that depend on weights only,
  // which cost nothing.
  int anchors = 0;
  std::vector<WhyNotGroup> groups;  // those nearest to a match first
};

struct WhyNotReport {
  std::string rule, source, anchor;  // its name, its operators and the one that it ends in
  std::string excluded;              // why the search did not look at the rule; "": it did
  int applied = 0;                   // steps of the search's result that apply it
  WhyNotGraph input, result;
};

// What the rule finds in `graph`. Prices at most two hundred of the graphs that it would make,
// fewer if they are large; of several matches at one place the one that `objective` prefers counts.
absl::StatusOr<WhyNotGraph> ExplainIn(const PreparedRule& rule, const Graph& graph,
                                      const Objective& objective, CostModel* costs);

// `memory`: how it changes is said too.
std::string WhyNotText(const WhyNotReport& report, bool memory);
Json WhyNotJson(const WhyNotReport& report);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_WHY_NOT_H_
