// Checks that the weights that a rule matches have only finite elements: the rule's float contract
// relies on this.
#ifndef LEMMA_VERIFIER_CERTIFICATE_FINITE_H_
#define LEMMA_VERIFIER_CERTIFICATE_FINITE_H_

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "verifier/certificate/fold.h"

namespace lemma::certificate {

// Remembers its answer for each node. The nodes must outlive the object.
class FiniteWeights {
 public:
  // `folder` computes values that depend on weights only; not owned.
  explicit FiniteWeights(Folder* folder) : folder_(*folder) {}

  // Whether `value` depends on weights and constants only, and is finite: all elements of these
  // weights and constants, of intermediate results and of `value` are finite when they are rounded
  // to their types. Weights without known elements, and values computed from them, are assumed to
  // be finite. False if a value cannot be computed.
  bool AreFinite(const Value& value);

 private:
  enum class Known { kFinite, kAssumed, kNot };
  Known OfNode(const NodePtr& node) const;

  Folder& folder_;
  absl::flat_hash_map<const Node*, Known> known_;
};

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_FINITE_H_
