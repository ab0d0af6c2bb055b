// What follows for whole graphs if their regions are proved equal. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_CONCLUSION_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_CONCLUSION_H_

#include <string>

#include "graph/graph.h"
#include "verifier/verdict.h"

namespace lemma::referee {

// Why no proof is possible, whatever is proved of regions; "" if one is: an input of `before` has
// no elements; or `after`, which must have the inputs of `before`, may need more of the symbolic
// sizes than `before` does.
std::string WhyNoProof(const Graph& before, const Graph& after);

// What is proved of two graphs.
struct ProvedParts {
  int regions = 0;                                    // their number
  FloatContract contract = FloatContract::kBitExact;  // the loosest of a region
  std::string condition;      // of the regions, as a text that Conclusion::coverage ends in; or ""
  bool exact_weights = true;  // whether no weight is a computed one, near its formula
};

struct Conclusion {
  std::string problem;  // why the graphs are not proved equal all the same; "" if they are
  FloatContract contract = FloatContract::kRealOnly;  // of the whole graphs
  std::string coverage;                               // the shapes and sizes, and conditions
};

// All outputs of the graphs are proved equal by `parts`. `after` has its own weights. The contract
// may be looser than that of every region: a value that one region rounds differently may cross a
// discontinuity in a later region, and a zero of undetermined sign may become a divisor there.
Conclusion ConclusionOf(const Graph& before, const Graph& after, const ProvedParts& parts);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_CONCLUSION_H_
