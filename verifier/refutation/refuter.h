// Searches for counterexamples by running both sides at concrete sizes: small ones, and those that
// constants suggest. Internal to the verifier.
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

// Whether `e` contains a function that depends on the order of numbers, such as max. Then inputs of
// random signs may hide a difference that only inputs of one sign show.
bool ComparesNumbers(const ScalarExpr& e);

// Searches for counterexamples of one statement. The constructor's arguments must outlive the
// object.
class Refuter {
 public:
  Refuter(const Statement& statement, const Hypotheses& hypotheses, Leaves* leaves, uint64_t seed);

  // How Sample draws the values of symbols.
  enum class Style {
    kVaried,
    kSpecial,   // many are 0, 1 or equal, as preconditions often require
    kNegative,  // attributes, unlike sizes, may be negative
  };
  // Values of all symbols for which the requirements hold. nullopt if `attempts` random choices
  // gave none.
  std::optional<SymbolMap> Sample(std::mt19937_64* random, Style style = Style::kVaried,
                                  int attempts = 3000);
  // Compares the sides at these values of all symbols. `seed`: for the elements of inputs. If the
  // shapes of an output differ, returns the shapes; otherwise an element that FindDifference finds
  // (comparison.h). nullopt if nothing differs, or if the comparison would take too long. Also
  // nullopt if the shapes are equal, but a side stores a value in an integer type that may not hold
  // it. In claims with a bound, a float that such a type stores is saturated instead.
  std::optional<Refuted> Compare(const SymbolMap& symbols, uint64_t seed);
  // Calls Compare at up to `samples` random choices of the symbols' values, until the sides differ.
  // Then makes the counterexample smaller. nullopt if no difference is found.
  std::optional<Refuted> Search(int samples);
  // The same at the sizes and elements that the statement's constants suggest (suggestions.h): a
  // claim that is true only for sizes up to 40 looks true at small sizes. Takes up to `work` steps.
  std::optional<Refuted> SearchSuggested(int64_t work);
  // As Sample, but constants suggest some of the values.
  std::optional<SymbolMap> SampleSuggested(std::mt19937_64* random, int attempts = 3000);
  // Whether a comparison so far found two elements that are unequal in double, even if only by
  // rounding or because one is NaN. If the sides have sums or products over axes, only a few
  // comparisons count: those that take all terms in the order of their indices.
  bool rounding_differs() const { return rounding_differs_; }

 private:
  bool Satisfies(const SymbolMap& symbols) const;
  std::optional<SymbolMap> Complete(const std::map<Leaf, int64_t>& free, int64_t most) const;
  // Symbols that the requirements do not determine.
  std::vector<Leaf> FreeSymbols() const;
  // Sets symbol number `one` to `size`, a suggested size. If `one` is negative, sets each symbol to
  // a suggested size in half of the cases.
  std::optional<SymbolMap> TrySuggested(const std::vector<Leaf>& free, int one, int64_t size,
                                        std::mt19937_64* random) const;
  const Suggestions& suggestions();
  // How elements are drawn for the comparisons.
  std::vector<InputStyle> Styles() const;
  // Sets rounding_differs_ by comparing sums in their order.
  void CompareInOrder(const absl::flat_hash_map<std::string, int64_t>& binding, uint64_t seed);
  // Keeps the smallest counterexample so far in *found, since the work limit may end the search.
  void Shrink(SymbolMap symbols, Refuted* found);

  const Statement& statement_;
  const Hypotheses& hypotheses_;
  Leaves& leaves_;
  uint64_t seed_;
  std::vector<std::string> symbols_, params_;
  std::vector<IndexExpr> positive_;
  std::set<Leaf> sizes_;
  bool adds_up_ = false, compares_ = false, rounding_differs_ = false;
  int in_order_ = 0;                        // comparisons of ordered sums so far
  bool loses_numbers_ = false;              // a value is stored in a type that may change it
  std::optional<Suggestions> suggestions_;  // computed when first needed
  double max_work_;                         // limit on operations and elements of one run of a side
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_REFUTER_H_
