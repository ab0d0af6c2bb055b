// Matches the inputs and outputs of two graphs. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_INTERFACE_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_INTERFACE_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lemma::referee {

struct MatchedInterface {
  std::vector<std::string> differences;  // lines for people; if any, the graphs are not compared
  std::vector<std::string> notes;        // lines for people, such as a match by position
  // The second graph, whose inputs and outputs have the order and the names of the first graph.
  // Empty if there are differences.
  Graph after;
};

// Inputs and outputs correspond by name, or by position if the sets of names differ. The following
// count as differences: different numbers of inputs or outputs; different types; and, if inputs or
// outputs correspond by position, a name that both graphs have at different positions.
MatchedInterface MatchInterface(const Graph& before, const Graph& after);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_INTERFACE_H_
