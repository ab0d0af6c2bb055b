// Finds pairs of graphs that have equal values on random inputs, but are not known to be equal.
#ifndef LEMMA_GENERATOR_RUN_PAIRS_H_
#define LEMMA_GENERATOR_RUN_PAIRS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "generator/derivation/derivation.h"
#include "generator/enumeration/evaluator.h"
#include "generator/run/generate.h"
#include "generator/sets/terms.h"

namespace lemma::generator {

// Swaps the sides of *pair if the target has every variable of the source and others as well. Then
// returns WithoutNames(set, *pair) (generator/sets/terms.h).
NamedPair OrientWithoutNames(const OperatorSet& set, Pair* pair);

// Collects pairs of graphs from classes of graphs; pairs that differ only in names count as one.
class PairCollector {
 public:
  // Orders pairs by the number of variables, most first, and then by the number of operators,
  // fewest first. Later pairs say less, and may follow from earlier pairs. The tuple has minus the
  // number of variables, the number of operators of both sides, and NamedPair::key.
  using Priority = std::tuple<int, size_t, std::string>;

  // All arguments must outlive this object. The caller may add pairs to `known` between calls. The
  // collector counts in `pairs` and `candidates` of *stats.
  PairCollector(const OperatorSet* set, Derivation* known, Evaluator* evaluator,
                GenerateStats* stats);

  // Compares each member of `size` operators with the earlier members of the class `one`. Adds
  // pairs for the member if no earlier member has the same normal forms, but an earlier member has
  // equal values on further random inputs. Errors are the evaluator's errors.
  absl::Status Collect(const ValueClass& one, int size);
  // The pairs added since the last call.
  std::map<Priority, Pair> Take();

  // Whether the key (NamedPair::key) is new: no pair with this key was collected, and IsNew was not
  // called with it before.
  bool IsNew(const std::string& key) { return seen_.insert(key).second; }

 private:
  bool HasSplit(const CompactGraph& graph) const;
  std::vector<size_t> PartsOf(const Pair& pair, const std::vector<bool>& open) const;
  void AddParts(const Pair& pair, const std::vector<int>& source_forms,
                const std::vector<int>& target_forms);

  const OperatorSet& set_;
  Derivation& known_;
  Evaluator& evaluator_;
  GenerateStats& stats_;
  std::vector<int> input_types_;
  absl::flat_hash_set<std::string> seen_;
  std::map<Priority, Pair> found_;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_PAIRS_H_
