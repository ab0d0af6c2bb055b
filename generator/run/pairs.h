// Pairs of graphs that look alike and are not known to be equal.
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

// Names, turned around if only so the target has no variable of its own.
NamedPair Named(const OperatorSet& set, Pair* pair);

// The pairs of classes of graphs, each once up to names.
class PairCollector {
 public:
  // Fewer variables and more operators come later: they say less, and may follow.
  using Place = std::tuple<int, size_t, std::string>;

  // All must outlive this; what the rewriting knows may grow. Counts go to `stats`.
  PairCollector(const OperatorSet* set, Derivation* known, Evaluator* evaluator,
                GenerateStats* stats);

  // Adds a pair for each member of `size` operators that rewriting does not make the same as a
  // smaller one, if both are equal on further random inputs.
  absl::Status Collect(const ValueClass& one, int size);
  // Those that were added since the last call.
  std::map<Place, Pair> Take();

  // Whether a pair of this key was never met before; from now on it was.
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
  std::map<Place, Pair> found_;
};

}  // namespace lemma::generator

#endif  // LEMMA_GENERATOR_RUN_PAIRS_H_
