// Search for counterexamples by running both sides at small sizes. Internal to the prover.
#ifndef LEMMA_VERIFIER_REFUTER_H_
#define LEMMA_VERIFIER_REFUTER_H_

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "verifier/hypotheses.h"
#include "verifier/prover.h"

namespace lemma::verify {

class Refuter {
 public:
  Refuter(const Statement& statement, const Hypotheses& hypotheses, Leaves* leaves, uint64_t seed);

  // Values of all symbols for which the requirements hold; nullopt if none was found.
  std::optional<SymbolMap> Sample(std::mt19937_64* random);
  // Sizes at which the sides differ, in the field and in double; shrunk.
  std::optional<Refuted> Search(int samples);

 private:
  bool Satisfies(const SymbolMap& symbols) const;
  std::optional<SymbolMap> Complete(const std::map<Leaf, int64_t>& free) const;
  std::optional<Refuted> Compare(const SymbolMap& symbols, uint64_t seed);
  Refuted Shrink(SymbolMap symbols, Refuted found);

  const Statement& statement_;
  const Hypotheses& hypotheses_;
  Leaves& leaves_;
  uint64_t seed_;
  std::vector<std::string> symbols_, params_;
  std::vector<IndexExpr> positive_;
};

}  // namespace lemma::verify

#endif  // LEMMA_VERIFIER_REFUTER_H_
