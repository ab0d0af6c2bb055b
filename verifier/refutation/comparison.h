// Compares both sides of a claim on random inputs at concrete sizes. Internal to the verifier.
#ifndef LEMMA_VERIFIER_REFUTATION_COMPARISON_H_
#define LEMMA_VERIFIER_REFUTATION_COMPARISON_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/tensor.h"
#include "verifier/refutation/concrete.h"
#include "verifier/refutation/suggestions.h"
#include "verifier/verdict.h"

namespace lemma::prover {

// How the elements of inputs are drawn.
struct InputStyle {
  // For elements that are real numbers. kPositive: in [0.25, 1.75]. kSigned: in [-2, 2].
  // kSmallIntegers: integers in [-3, 3]. kOneSign: integers in [1, 4] or in [-4, -1], of one sign
  // in each tensor. kSparse: most are 0, the others small integers. kSomeInfinite: as kSigned, but
  // a quarter are +infinity. kSuggested: half of them from `suggested`, the others small integers.
  // kMonotonic: integers that rise or fall through a tensor, so that the maximum and the minimum
  // are its first and last elements.
  enum class Reals {
    kPositive,
    kSigned,
    kSmallIntegers,
    kOneSign,
    kSparse,
    kSomeInfinite,
    kSuggested,
    kMonotonic,
  };
  Reals reals = Reals::kPositive;
  int64_t low = 0, high = 2;  // range of integers, which may be indices; both ends included
  // Required for kSuggested. If set, half of the integers are drawn from its sizes. Not owned.
  const Suggestions* suggested = nullptr;
};

// The two sides of a comparison. The objects behind the references and `bounds` must outlive this
// object.
struct ComparedSides {
  const Concrete& source;
  const Concrete& target;
  const std::vector<ExprType>& inputs;
  std::vector<std::string> params;  // names of the real parameters of both sides
  // By input: its values if they are known; other inputs are drawn. Empty: no input is known.
  std::vector<std::optional<Tensor>> known;
  double tolerance = 1e-6;  // as in LargestDifference
  // Bounds of parameters by name (Statement::bounds), if there are any.
  const std::map<std::string, std::pair<double, double>>* bounds = nullptr;
  // If set, gives the number by which elements may differ (Statement::within). Not owned.
  const Concrete* within = nullptr;
};

// An output element in which the sides differ.
struct DifferentElement {
  Refuted refuted;      // only output, index, source and target are set
  size_t position = 0;  // row-major, in the output
};

// The element with the largest difference relative to 1 + |source| + |target|. All vectors have one
// entry per output; elements are in row-major order; `dims` are the shapes. nullopt if no
// difference exceeds `tolerance` times (1 + |source| + |target|). Ignores elements that are
// infinite or NaN.
std::optional<DifferentElement> LargestDifference(const std::vector<std::vector<double>>& source,
                                                  const std::vector<std::vector<double>>& target,
                                                  const std::vector<std::vector<int64_t>>& dims,
                                                  double tolerance);

// An element in which the sides differ in double by more than rounding
// explains, also after a small change of the inputs. If sides.within is not
// set, the outputs must also differ in the field, in this element or in
// another. If it is set, the difference must also exceed the number that it
// gives. The sides must have equal shapes. nullopt if no such element is found.
// Depends on the arguments only. Refuted::values has the parameters only. If
// `unequal` is given: sets *unequal to true if two elements were unequal in
// double, even if only by rounding or because one is NaN; otherwise leaves
// *unequal as it is.
std::optional<Refuted> FindDifference(const ComparedSides& sides, InputStyle style, uint64_t seed,
                                      bool* unequal = nullptr);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_COMPARISON_H_
