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
  // Samples `number` positions of `original`, which is numeric: two corners, then random ones.
  Samples(Value original, int number, uint64_t seed);

  // Compares elements as polynomials; stops when half cannot be reached. A value that is not a
  // polynomial, or too large, agrees nowhere; for the original itself it is an error.
  absl::StatusOr<bool> AgreeWith(const Value& value);

 private:
  const Value original_;
  std::vector<std::vector<int64_t>> positions_;
  PolynomialReader reader_;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_SAMPLES_H_
