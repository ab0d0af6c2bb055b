// Compares what two graphs take and give. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_INTERFACE_H_
#define LEMMA_VERIFIER_REFEREE_INTERFACE_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lemma::referee {

struct MatchedInterface {
  std::vector<std::string> differences;  // if any, the graphs cannot be compared
  std::vector<std::string> notes;
  Graph after;  // with inputs and outputs in the order of the first graph
};

MatchedInterface MatchInterface(const Graph& before, const Graph& after);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_INTERFACE_H_
