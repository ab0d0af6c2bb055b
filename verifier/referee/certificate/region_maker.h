// Copies a region out of two models, as a certificate cuts it. Internal to the check of
// certificates of the referee.
#ifndef LEMMA_VERIFIER_REFEREE_CERTIFICATE_REGION_MAKER_H_
#define LEMMA_VERIFIER_REFEREE_CERTIFICATE_REGION_MAKER_H_

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "verifier/referee/evidence/constants.h"
#include "verifier/referee/evidence/known_elements.h"
#include "verifier/referee/evidence/region_proof.h"

namespace lemma::referee {

// Whether the value is computed from one of the nodes, or is a result of one.
bool DependsOn(const Value& value, const absl::flat_hash_set<const Node*>& nodes);

// The claim that `before` and `after` are equal, whatever the values in `cuts` are, except for what
// `cuts` says of their elements. Inputs may have any value, too; constants that are not cut keep
// their elements. `own_numbers`: nodes whose numbers the author of the certificate chose; if one
// takes part, RegionClaim::near_numbers is false. FailedPrecondition if `cuts` says something about
// elements that is not so, or if the region has more than 400 operators.
absl::StatusOr<RegionClaim> MakeRegion(const Value& before, const Value& after,
                                       const absl::flat_hash_map<Value, Known>& cuts,
                                       const absl::flat_hash_set<const Node*>& own_numbers,
                                       ConstantEvaluator* evaluator);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_CERTIFICATE_REGION_MAKER_H_
