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
  // Samples `number` positions of `original`, whose sizes must be numbers: the first and the last
  // position, then random ones.
  Samples(Value original, int number, uint64_t seed);

  // Whether `value` agrees with the original at half or more of the positions. Elements are
  // compared as polynomials; ends as soon as the answer is known. A value that is not a polynomial,
  // or whose polynomials are too large, agrees nowhere; if the original is such a value, the error
  // is Unimplemented or ResourceExhausted.
  absl::StatusOr<bool> AgreeWith(const Value& value);

 private:
  const Value original_;
  std::vector<std::vector<int64_t>> positions_;
  PolynomialReader reader_;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_SAMPLES_H_
