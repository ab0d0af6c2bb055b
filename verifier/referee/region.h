// Cuts a pair of values that may be equal out of two graphs. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_REGION_H_
#define LEMMA_VERIFIER_REFEREE_REGION_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"
#include "verifier/referee/evidence/known_elements.h"
#include "verifier/referee/evidence/region_proof.h"

namespace lemma::referee {

// How to cut.
struct CutOptions {
  // How many operators deep the region reaches below the values that both graphs are known to
  // share.
  int depth = 0;
  // Which float weights keep their elements; the proof has to hold for any elements of the others.
  // Integers, single numbers and small constants always keep theirs.
  enum class Weights {
    kAny,      // none
    kUniform,  // those whose elements are all equal
    kSigns,    // as kUniform; others keep only that all their elements are >= 0, <= 0, or 0 or 1
    kFew,      // as kUniform, and those with at most 16 elements
    kAll,
  };
  Weights weights = Weights::kAny;
  // If set, values that these nodes compute from weights are treated like weights: with kFew, small
  // exact values keep their elements; with kSigns, all these values keep their signs. Not owned.
  const absl::flat_hash_set<const Node*>* constants = nullptr;
  int max_operators = 48;  // of each side
};

// A value that a region does not compute, and what the region's proof may use of it.
struct Cut {
  Value value;
  Known known = Known::kAny;
};

std::vector<Value> ValuesOf(const std::vector<Cut>& cuts);

// A claim that is cut out of two graphs.
struct Region : RegionClaim {
  // By input: the value that the input stands for; a value of the first graph, a weight, or
  // computed from weights. Unless `known` is kAny, the region computes this value from the input.
  std::vector<Cut> inputs;
  std::vector<Value> constants;  // computed from weights; constants of the region
  int operators = 0;             // of both sides
};

// The region that computes `u` and `w`. `shared`: the nodes of the first graph. `u`: a value of
// that graph. `w`: a value that is computed from values of that graph. nullopt if the region would
// be too large.
std::optional<Region> CutRegion(const absl::flat_hash_set<const Node*>& shared, const Value& u,
                                const Value& w, const CutOptions& options);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_REGION_H_
