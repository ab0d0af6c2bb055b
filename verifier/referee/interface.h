// Matches the inputs and outputs of two graphs. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_INTERFACE_H_
#define LEMMA_VERIFIER_REFEREE_INTERFACE_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lemma::referee {

struct MatchedInterface {
  std::vector<std::string> differences;  // lines for people; if any, the graphs are not compared
  std::vector<std::string> notes;        // lines for people, such as a match by position
  Graph after;  // the second graph, with inputs and outputs in the order of the first one
};

// Inputs and outputs correspond by name, or by position if the sets of names differ. Types that
// differ are among the differences.
MatchedInterface MatchInterface(const Graph& before, const Graph& after);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_INTERFACE_H_
