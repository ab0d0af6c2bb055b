// Cuts a pair of values that may be equal out of two graphs, and proves the pair. Internal to the
// referee.
#ifndef LEMMA_VERIFIER_REFEREE_REGION_H_
#define LEMMA_VERIFIER_REFEREE_REGION_H_

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/expr/index_expr.h"
#include "graph/graph.h"
#include "verifier/prover/prover.h"
#include "verifier/verdict.h"

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

// Two graphs of one output each over the same inputs. An input stands for a value that both graphs
// share, or for a weight.
struct Region {
  Graph before, after;
  std::vector<bool> finite;  // by input: whether it stands for a weight without infinities and NaN
  // By input: the value of the first graph that the input stands for. With Weights::kSigns, an
  // input may be a number or truth value from which the region computes this value.
  std::vector<Value> stands;
  int operators = 0;  // of both sides
};

// The region that computes `u` and `w`. `shared`: the nodes of the first graph. `u`: a value of
// that graph. `w`: a value that is computed from values of that graph. nullopt if the region would
// be too large.
std::optional<Region> CutRegion(const absl::flat_hash_set<const Node*>& shared, const Value& u,
                                const Value& w, const CutOptions& options);

// Proves regions and remembers the answers: layers repeat.
class RegionProver {
 public:
  // `assumptions`: what the symbolic dimensions of the whole graphs satisfy, beside being in their
  // ranges. `options` must outlive the object.
  explicit RegionProver(const ProverOptions& options, std::vector<Guard> assumptions = {})
      : options_(options), assumptions_(std::move(assumptions)) {}
  // Never answers Refuted. Spends at most `work` steps (ProverOptions::work).
  Verdict Prove(const Region& region, int64_t work);
  int proofs() const { return proofs_; }
  int remembered() const { return remembered_; }
  // The evidence of all proofs together.
  const Proved& evidence() const { return evidence_; }

 private:
  Verdict ProveAnew(const Region& region, int64_t work) const;
  std::vector<Guard> RequirementsOn(const Region& region) const;

  const ProverOptions& options_;
  const std::vector<Guard> assumptions_;
  // Equal graphs have equal outputs, since equal values are one value.
  using Key = std::tuple<Value, Value, std::vector<bool>>;
  struct Known {
    Verdict verdict;
    int64_t work;  // an unknown one may be proved with more
  };
  absl::flat_hash_map<Key, Known> known_;
  int proofs_ = 0, remembered_ = 0;
  Proved evidence_;
};

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_REGION_H_
