// Whether a graph agrees with another at half of some sampled positions. Internal to pet: what
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
  // `number` positions of `original`: two corners, then any. Its elements are numbers.
  Samples(Value original, int number, uint64_t seed);

  // As polynomials; given up when half is out of reach. A value that is no polynomial, or too large
  // a one, agrees nowhere, unless it is the original: then it is an error.
  absl::StatusOr<bool> AgreeWith(const Value& value);

 private:
  const Value original_;
  std::vector<std::vector<int64_t>> positions_;
  PolynomialReader reader_;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_SAMPLES_H_
