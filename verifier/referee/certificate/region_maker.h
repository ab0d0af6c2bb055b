// Copies a region out of two models, cut at the values that a certificate names. Internal to the
// check of certificates of the referee.
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

// Whether the value is a result of one of the nodes, or is computed from such a result.
bool DependsOn(const Value& value, const absl::flat_hash_set<const Node*>& nodes);

// The claim that `before` and `after` are equal for all values of `cuts` whose elements are as
// `cuts` says. Inputs, and weights without known elements, may have any value too. Other weights
// and constants keep their elements unless they are cut. `own_numbers`: nodes whose numbers the
// author of the certificate chose; if the region contains such a node, or uses elements that depend
// on it, RegionClaim::near_numbers is false. `evaluator` computes constants. FailedPrecondition if
// a fact about elements in `cuts` cannot be confirmed, or if the region has more than 400
// operators.
absl::StatusOr<RegionClaim> MakeRegion(const Value& before, const Value& after,
                                       const absl::flat_hash_map<Value, Known>& cuts,
                                       const absl::flat_hash_set<const Node*>& own_numbers,
                                       ConstantEvaluator* evaluator);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_CERTIFICATE_REGION_MAKER_H_
