// Whether what a rule calls a weight is finite: its float contract rests on that.
#ifndef LEMMA_VERIFIER_CERTIFICATE_FINITE_H_
#define LEMMA_VERIFIER_CERTIFICATE_FINITE_H_

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "verifier/certificate/fold.h"

namespace lemma::certificate {

// Looks at each value once. Nodes have to outlive it.
class FiniteWeights {
 public:
  // `folder` computes what is computed from weights; not owned.
  explicit FiniteWeights(Folder* folder) : folder_(*folder) {}

  // Whether the value depends on weights and constants only, and none of these, nor anything
  // computed on the way, holds an infinity or NaN in its type. Weights without values are taken to
  // be finite, and so is what is computed from them: nothing is known of it.
  bool AreFinite(const Value& value);

 private:
  enum class Known { kFinite, kAssumed, kNot };
  Known OfNode(const NodePtr& node) const;

  Folder& folder_;
  absl::flat_hash_map<const Node*, Known> known_;
};

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_FINITE_H_
