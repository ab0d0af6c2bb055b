// Explains where a rule could be applied, and why it was not.
#ifndef LEMMA_API_OPTIMIZATION_WHY_NOT_H_
#define LEMMA_API_OPTIMIZATION_WHY_NOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "optimizer/cost/cost_model.h"
#include "optimizer/cost/objective.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/matching/why_not.h"

namespace lemma::api {

// Places in a graph where the same condition prevents the application of the rule
// (rewrite/matching/why_not.h); with kNothing, places where the rule applies.
struct WhyNotGroup {
  Missing missing = Missing::kNothing;
  std::string reason;
  int most_conditions_held = 0;     // the largest number of conditions that hold at one place
  bool only_obstacle = false;       // at some place this is the only condition that fails
  std::vector<std::string> places;  // labels, or positions in the graph; never empty
  // If the rule applies: the least and the greatest change of the graph's predicted time and peak
  // memory over the places. Absent if it was not priced.
  struct Change {
    double least_ms = 0, most_ms = 0;
    int64_t least_bytes = 0, most_bytes = 0;
  };
  std::optional<Change> change;
};

struct WhyNotGraph {
  // The number of applications of the rule's anchor operator (WhyNotReport::anchor). Applications
  // that depend on weights only do not count, since they cost nothing.
  int anchors = 0;
  int not_looked_at = 0;            // anchors not examined because the deadline had passed
  std::vector<WhyNotGroup> groups;  // the nearest to a match first
};

struct WhyNotReport {
  std::string rule;                 // its name
  std::vector<std::string> source;  // the operators of its source
  std::string anchor;               // the operator of the source's first output
  // Why the search did not use the rule.
  enum class Excluded {
    kNot,           // it was not excluded
    kDisabled,      // OptimizeOptions::disable names it
    kNotAmongOnly,  // OptimizeOptions::only does not name it
    kContract,      // its float contract is looser than allowed
    kUnproved,      // `problem` says why
  };
  Excluded excluded = Excluded::kNot;
  FloatContract contract = FloatContract::kBitExact;  // the rule's
  std::string problem;  // kUnproved: why it counts as not proved; otherwise ""
  int applied = 0;      // how many steps of the search's result apply it
  WhyNotGraph input, result;
};

// "conv2d + relu": the source of the rule; "nothing" if it has no operators.
std::string SourceText(const WhyNotReport& report);
// The report for people. `excluded`: why the search did not use the rule, in the caller's words;
// "": it was not excluded. `memory`: whether to include changes of peak memory.
std::string TextOf(const WhyNotReport& report, const std::string& excluded, bool memory);

// The places of `graph` where the rule matches or nearly matches, and the changes of time and
// memory that it would bring there. Prices at most two hundred of the graphs that the rule would
// make, fewer if they are large. If there are several matches at one place, the match that
// `objective` prefers counts. Pricing ends when half of the time until the deadline is over; no
// place is examined after the deadline. Returns the errors of `costs`.
absl::StatusOr<WhyNotGraph> ExplainIn(const PreparedRule& rule, const Graph& graph,
                                      const optimizer::Objective& objective,
                                      optimizer::CostModel* costs,
                                      const Deadline& deadline = Deadline());

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_WHY_NOT_H_
