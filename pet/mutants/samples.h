// Tests whether a graph agrees with the original at half or more of some sampled positions. This
// tells mutants from other graphs of the right type.
#ifndef LEMMA_PET_MUTANTS_SAMPLES_H_
#define LEMMA_PET_MUTANTS_SAMPLES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "pet/regions/polynomial.h"

namespace lemma::pet {

class Samples {
 public:
  // Samples `number` positions of `original`: the first and the last position, then random ones.
  // The sizes of `original` must be positive and not symbolic.
  Samples(Value original, int number, uint64_t seed);

  // Whether `value`, which must have the original's type, agrees with the original at half or more
  // of the positions. Elements are compared as polynomials. False if one of the two values is not a
  // polynomial, or its polynomials are too large. Exception: if `value` is the original itself,
  // these two cases are the errors Unimplemented and ResourceExhausted.
  absl::StatusOr<bool> AgreeWith(const Value& value);

 private:
  const Value original_;
  std::vector<std::vector<int64_t>> positions_;
  PolynomialReader reader_;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_SAMPLES_H_
