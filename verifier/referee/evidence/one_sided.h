// Finds operations that only one side of a region has and that a proof about real numbers ignores:
// reads that may lie outside of a tensor, and conversions. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_ONE_SIDED_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_ONE_SIDED_H_

#include <string>

#include "verifier/referee/evidence/region_proof.h"

namespace lemma::referee {

// Whether the operator reads at positions that elements of its operands give.
bool ReadsByData(const Node& node);

// Says why the second side of the region may read outside of a tensor where the first side does
// not. The reason is an operator of the second side that reads at positions that are data, or that
// are constants while sizes are symbolic. Such an operator does not count if the first side has the
// same operator with the same attributes, the same positions and a first operand of the same shape.
// "" if there is no reason.
std::string ReadsElsewhere(const RegionClaim& region);

// Which conversions of integers to floats only one side has.
struct OneSidedConversions {
  bool any = false;
  // Whether a conversion makes a 16-bit float. f16 has no integer beyond 65504, and not all
  // integers beyond 2048.
  bool to_half = false;
};
OneSidedConversions ConversionsOf(const RegionClaim& region);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_ONE_SIDED_H_
