// Says what is proved of two whole graphs if all their regions are proved equal. Internal to the
// referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_CONCLUSION_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_CONCLUSION_H_

#include <string>

#include "graph/graph.h"
#include "verifier/verdict.h"

namespace lemma::referee {

// Why no proof of the whole graphs is possible, even if all regions are proved: an input of
// `before` may have no elements, or `after` assumes more about the symbolic sizes than `before`
// does. "" if a proof is possible. `after` must have the inputs of `before`.
std::string WhyNoProof(const Graph& before, const Graph& after);

// What is proved of two graphs.
struct ProvedParts {
  int regions = 0;                                    // the number of regions
  FloatContract contract = FloatContract::kBitExact;  // the loosest contract of all regions
  // Text that is appended to Conclusion::coverage, such as ", wherever both read inside their
  // tensors": a condition of the regions' proofs; "" if there is none.
  std::string condition;
  // Whether every weight equals its formula exactly (WeightRelation::exact).
  bool exact_weights = true;
};

struct Conclusion {
  // Why the graphs are not proved equal although all their outputs are; "" if they are proved
  // equal.
  std::string problem;
  FloatContract contract = FloatContract::kRealOnly;  // of the whole graphs
  std::string coverage;                               // the shapes and sizes, and conditions
};

// The caller must have proved all outputs equal; `parts` says how. `after` must have its own
// weights, not the formulas that replaced them. The contract of the whole graphs may be looser than
// the contract of every region, for three reasons. A weight that is not exact makes it at least
// kReassociates. A value that one region rounds differently may cross a discontinuity in a later
// region. A zero of undetermined sign may become a divisor in a later region.
Conclusion ConclusionOf(const Graph& before, const Graph& after, const ProvedParts& parts);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_CONCLUSION_H_
