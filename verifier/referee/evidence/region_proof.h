// Proves that the two sides of a region, which are small graphs, compute the same. Internal to the
// referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_REGION_PROOF_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_REGION_PROOF_H_

#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/expr/index_expr.h"
#include "graph/graph.h"
#include "verifier/prover/prover.h"
#include "verifier/verdict.h"

namespace lemma::referee {

// Two graphs of one output each over the same inputs. An input stands for a value that both models
// have, or for a weight.
struct RegionClaim {
  Graph before, after;
  std::vector<bool> finite;  // by input: whether it stands for a weight without infinities and NaN
  // Whether numbers of both sides that are equal but for their rounding may be taken to be equal.
  bool near_numbers = true;
};

// Proves regions. Remembers the answers, because the layers of a model often repeat.
class RegionProver {
 public:
  // `assumptions`: conditions that the symbolic dimensions of the whole graphs satisfy, beside
  // being in their ranges. `options` must outlive the object.
  explicit RegionProver(const ProverOptions& options, std::vector<Guard> assumptions = {})
      : options_(options), assumptions_(std::move(assumptions)) {}
  // Never answers Refuted. Spends at most `work` steps (ProverOptions::work) on each of up to two
  // attempts: with the numbers as they are, and with near numbers unified.
  Verdict Prove(const RegionClaim& region, int64_t work);
  // The number of proofs tried, successful or not, and of calls answered from memory.
  int proofs() const { return proofs_; }
  int remembered() const { return remembered_; }
  // The evidence of all proofs together.
  const Proved& evidence() const { return evidence_; }

 private:
  Verdict ProveAnew(const RegionClaim& region, int64_t work) const;
  std::vector<Guard> RequirementsOn(const RegionClaim& region) const;

  const ProverOptions& options_;
  const std::vector<Guard> assumptions_;
  // The outputs of both graphs, and the other fields of the region. Values that are equal as
  // expressions are one object, so equal graphs have the same outputs.
  using Key = std::tuple<Value, Value, std::vector<bool>, bool>;
  struct Remembered {
    Verdict verdict;
    int64_t work;  // an unknown verdict may become proved with more work
  };
  absl::flat_hash_map<Key, Remembered> known_;
  int proofs_ = 0, remembered_ = 0;
  Proved evidence_;
};

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_REGION_PROOF_H_
