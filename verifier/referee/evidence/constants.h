// The constants of a graph: values that depend on weights and constants with known elements only.
// Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_CONSTANTS_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_CONSTANTS_H_

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"

namespace lemma::referee {

// Whether the operator only moves elements, so that its results are exact. False if an operand has
// another element type than the results, unless the operand is used for positions only.
bool OnlyMoves(const Node& node);

// The nodes among `nodes` whose values depend only on known elements: weights with known elements,
// constants, and operators on these. Leaves out operators without a definition, without operands,
// or with symbolic sizes. `nodes` must have operands before users.
absl::flat_hash_set<const Node*> ConstantNodes(const std::vector<NodePtr>& nodes);

// A constant with the bounds of error_bounds.h, by element in row-major order.
struct BoundedTensor {
  std::vector<double> value;
  std::vector<double> magnitude, roundings;  // empty: the value is exact

  bool exact() const { return roundings.empty(); }
};

// Computes constants and remembers the small ones.
class ConstantEvaluator {
 public:
  // The elements of `value`; nullptr if they cannot be computed, or if an integer is too large for
  // double. Recurses through the operators that compute the constant. Each element computed counts
  // as work (base/work.h).
  std::shared_ptr<const BoundedTensor> Of(const Value& value);

 private:
  std::vector<std::shared_ptr<const BoundedTensor>> Compute(const Node& node);
  absl::flat_hash_map<Value, std::shared_ptr<const BoundedTensor>> kept_;
  std::vector<NodePtr> alive_;  // keys of kept_
};

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_CONSTANTS_H_
