// Both sides of a claim on one random input. Internal to the verifier.
#ifndef LEMMA_VERIFIER_REFUTATION_COMPARISON_H_
#define LEMMA_VERIFIER_REFUTATION_COMPARISON_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "verifier/refutation/concrete.h"
#include "verifier/refutation/suggestions.h"
#include "verifier/verdict.h"

namespace lemma::prover {

// What is drawn for elements.
struct InputStyle {
  // kOneSign: small integers, those of a tensor of one sign. kSparse: most are 0, the others small
  // integers. kSuggested: half of them as `suggested` says, the others small integers. kMonotonic:
  // integers that rise or fall through a tensor, so that an extremum is its last or first element.
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
  int64_t low = 0, high = 2;               // integers, which may be positions
  const Suggestions* suggested = nullptr;  // of kSuggested alone, for integers too
};

struct ComparedSides {
  const Concrete& source;
  const Concrete& target;
  const std::vector<ExprType>& inputs;
  std::vector<std::string> params;
  // Values of inputs that are known; all others are drawn. Empty: of none.
  std::vector<std::optional<Tensor>> known;
  double tolerance = 1e-6;
};

// An element of an output, and its number in it.
struct DifferentElement {
  Refuted refuted;
  size_t position = 0;
};

// The element in which outputs of shapes `dims`, computed by both sides, differ the most; none if
// none differs by more than `tolerance`, relative to 1 and both elements. What is infinite or not a
// number does not count.
std::optional<DifferentElement> LargestDifference(const std::vector<std::vector<double>>& source,
                                                  const std::vector<std::vector<double>>& target,
                                                  const std::vector<std::vector<int64_t>>& dims,
                                                  double tolerance);

// An element in which the sides, of equal shapes, differ in double by more than rounding explains,
// also if the inputs are changed a little, while some elements differ in the field as well.
// Its values are those of the parameters. Depends on the arguments only. Sets *unequal if two
// elements were unequal in double, if only by rounding or in being a number.
std::optional<Refuted> FindDifference(const ComparedSides& sides, InputStyle style, uint64_t seed,
                                      bool* unequal = nullptr);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_COMPARISON_H_
