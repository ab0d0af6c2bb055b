// Cuts a region out of two graphs: the operators that compute two values that may be equal.
// Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_REGION_H_
#define LEMMA_VERIFIER_REFEREE_REGION_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"
#include "verifier/referee/evidence/known_elements.h"
#include "verifier/referee/evidence/region_proof.h"

namespace lemma::referee {

// Says where CutRegion cuts, and what the proof of the region may use.
struct CutOptions {
  // Where a sweep proved values equal, the second graph reads the values of the
  // first graph; a region is cut at such values. With depth 0, the region is
  // cut at the first such value on each path from `w` of CutRegion towards the
  // inputs. With depth n, the region includes n more operators of each path.
  // The first side (`u`) stops at the same values, or at values from which
  // these are computed.
  int depth = 0;
  // Which float weights keep their elements in the region. The proof has to hold for any elements
  // of other float weights. Integers, single numbers and small constants always keep their
  // elements.
  enum class Weights {
    kAny,      // none
    kUniform,  // those whose elements are all equal
    // As kUniform. About any other weight of at most 65536 elements, the proof
    // knows only whether all elements are >= 0, all are <= 0, or each is 0 or
    // 1.
    kSigns,
    kFew,  // as kUniform, and those with at most 16 elements
    kAll,
  };
  Weights weights = Weights::kAny;
  // If set, values that these nodes compute from weights may be known too. With kFew: the elements
  // of float values of at most 64 elements that are computed without rounding (AsConstant). With
  // kSigns: the signs of float values of at most 65536 elements at which the region is cut. Not
  // owned.
  const absl::flat_hash_set<const Node*>* constants = nullptr;
  int max_operators = 48;  // of each side
};

// A value at which a region is cut, and what the region's proof may use of its elements.
struct Cut {
  Value value;
  Known known = Known::kAny;
};

std::vector<Value> ValuesOf(const std::vector<Cut>& cuts);

// A claim that is cut out of two graphs.
struct Region : RegionClaim {
  // By input, the value that it stands for: a value of the first graph, a weight, or a value
  // computed from weights. Unless `known` is kAny, the region applies Restricted
  // (evidence/known_elements.h) to the input.
  std::vector<Cut> inputs;
  // Values computed from weights, which are constants with their elements in the region.
  std::vector<Value> constants;
  int operators = 0;  // of both sides
};

// The region that computes `u` and `w`. `shared`: the nodes of the first graph. `u`: a value of
// that graph. `w`: a value that is computed from values of that graph. nullopt if the region would
// be too large.
std::optional<Region> CutRegion(const absl::flat_hash_set<const Node*>& shared, const Value& u,
                                const Value& w, const CutOptions& options);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_REGION_H_
