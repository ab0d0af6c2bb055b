// Finds operations that only one side of a region has and that a proof about real numbers ignores:
// reads that may lie outside of a tensor, and conversions. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_ONE_SIDED_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_ONE_SIDED_H_

#include <string>

#include "verifier/referee/evidence/region_proof.h"

namespace lemma::referee {

// Whether the operator reads at positions that elements of its operands give.
bool ReadsByData(const Node& node);

// Says why the second side may read outside of a tensor where the first one does not: an operator
// reads at positions that are data, or that are constants while sizes are symbolic, and the first
// side has no such operator with the same attributes, the same positions and a first operand of the
// same shape. "" if there is no such operator.
std::string ReadsElsewhere(const RegionClaim& region);

// Conversions of integers to floats that only one side has.
struct OneSidedConversions {
  bool any = false;
  // Whether one makes a 16-bit float. f16 has no integer beyond 65504, and not all beyond 2048.
  bool to_half = false;
};
OneSidedConversions ConversionsOf(const RegionClaim& region);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_ONE_SIDED_H_
