// Finds pairs of graphs that look equal but are not known to be equal.
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

// WithoutNames(set, *pair) (generator/sets/terms.h). Swaps the sides of *pair first if only then
// each variable of the target occurs in the source.
NamedPair Named(const OperatorSet& set, Pair* pair);

// Collects the pairs of classes of graphs, each once up to names.
class PairCollector {
 public:
  // Orders pairs: those with fewer variables, and then those with more operators, come later, since
  // they say less and may follow from earlier pairs.
  using Place = std::tuple<int, size_t, std::string>;

  // Arguments must outlive this. The caller may add pairs to `known` between calls. Counts are
  // added to *stats.
  PairCollector(const OperatorSet* set, Derivation* known, Evaluator* evaluator,
                GenerateStats* stats);

  // Compares the members of `size` operators with the members before them. Adds pairs for a member
  // with new normal forms if its values equal those of an earlier member on further random inputs
  // too.
  absl::Status Collect(const ValueClass& one, int size);
  // The pairs added since the last call.
  std::map<Place, Pair> Take();

  // True at the first call with this key (NamedPair::key), false at later ones.
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
