// Search for counterexamples by running both sides at small sizes. Internal to the prover.
#ifndef LEMMA_VERIFIER_REFUTATION_REFUTER_H_
#define LEMMA_VERIFIER_REFUTATION_REFUTER_H_

#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/expr/tensor_expr.h"
#include "verifier/refutation/comparison.h"
#include "verifier/refutation/hypotheses.h"
#include "verifier/refutation/suggestions.h"

namespace lemma::prover {

// Whether `e` depends on the order of numbers: then elements of random signs may hide a difference
// that shows where all of them are negative.
bool ComparesNumbers(const ScalarExpr& e);

class Refuter {
 public:
  Refuter(const Statement& statement, const Hypotheses& hypotheses, Leaves* leaves, uint64_t seed);

  enum class Style {
    kVaried,
    kSpecial,   // many are 0, 1 or equal to each other: what preconditions speak of
    kNegative,  // attributes, unlike sizes, may be negative
  };
  // Values of all symbols for which the requirements hold; nullopt if none was found.
  std::optional<SymbolMap> Sample(std::mt19937_64* random, Style style = Style::kVaried,
                                  int attempts = 3000);
  // An element in which the sides differ there, in the field and in double, or that their shapes
  // do; nullopt if neither, if it would take too long to tell, or if numbers are not what a tensor
  // of bytes would keep of them.
  std::optional<Refuted> Compare(const SymbolMap& symbols, uint64_t seed);
  // Sizes at which the sides differ, in the field and in double; shrunk.
  std::optional<Refuted> Search(int samples);
  // The same at sizes and elements that the statement's constants suggest (suggestions.h): what
  // holds up to 40 or 200 alone looks true at small sizes. Takes up to `work` steps.
  std::optional<Refuted> SearchSuggested(int64_t work);
  // Values for which the requirements hold, some of them as the constants suggest.
  std::optional<SymbolMap> SampleSuggested(std::mt19937_64* random, int attempts = 3000);
  // Whether two elements compared so far were unequal in double, if only by rounding or in being a
  // number, sums being taken in their order.
  bool rounding_differs() const { return rounding_differs_; }

 private:
  bool Satisfies(const SymbolMap& symbols) const;
  std::optional<SymbolMap> Complete(const std::map<Leaf, int64_t>& free, int64_t most) const;
  // Not determined by the requirements.
  std::vector<Leaf> FreeSymbols() const;
  // Sets `one` to a suggested size or, if negative, each symbol to one in half of the cases.
  std::optional<SymbolMap> TrySuggested(const std::vector<Leaf>& free, int one, int64_t size,
                                        std::mt19937_64* random) const;
  const Suggestions& suggestions();
  // Elements that are compared.
  std::vector<InputStyle> Styles() const;
  // Sets rounding_differs_ by sums in their order.
  void CompareInOrder(const absl::flat_hash_map<std::string, int64_t>& binding, uint64_t seed);
  // Keeps in *found the smallest so far, for it may be ended.
  void Shrink(SymbolMap symbols, Refuted* found);

  const Statement& statement_;
  const Hypotheses& hypotheses_;
  Leaves& leaves_;
  uint64_t seed_;
  std::vector<std::string> symbols_, params_;
  std::vector<IndexExpr> positive_;
  std::set<Leaf> sizes_;
  bool adds_up_ = false, compares_ = false, rounding_differs_ = false;
  int in_order_ = 0;          // comparisons of sums in their order so far
  bool wraps_bytes_ = false;  // a value is computed in 8 bits, which hold little of it
  std::optional<Suggestions> suggestions_;  // once they are asked for
  double max_work_;                         // operations and elements of a side that is run
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_REFUTER_H_
