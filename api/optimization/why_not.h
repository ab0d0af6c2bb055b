// Where a rule could be applied, and why it was not.
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
  int not_looked_at = 0;            // of them, since the deadline had passed
  std::vector<WhyNotGroup> groups;  // those nearest to a match first
};

struct WhyNotReport {
  std::string rule;                 // its name
  std::vector<std::string> source;  // its source's operators
  std::string anchor;               // the one of them that the source ends in
  // Why the search did not look at the rule.
  enum class Excluded {
    kNot,           // it did
    kDisabled,      // by its name
    kNotAmongOnly,  // others are the only ones
    kContract,      // it may change more than is allowed
    kUnproved,      // `problem` says why
  };
  Excluded excluded = Excluded::kNot;
  FloatContract contract = FloatContract::kBitExact;  // the rule's
  std::string problem;                                // why it counts as not proved
  int applied = 0;                                    // steps of the search's result that apply it
  WhyNotGraph input, result;
};

// "conv2d + relu": the source of the rule; "nothing" if it has no operators.
std::string SourceText(const WhyNotReport& report);

// What the rule finds in `graph`. Prices at most two hundred of the graphs that it would make,
// fewer if they are large; of several matches at one place the one that `objective` prefers counts.
// Prices no further graph when half of the time is over, and looks at no further place once the
// deadline has passed.
absl::StatusOr<WhyNotGraph> ExplainIn(const PreparedRule& rule, const Graph& graph,
                                      const optimizer::Objective& objective,
                                      optimizer::CostModel* costs,
                                      const Deadline& deadline = Deadline());

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_WHY_NOT_H_
