// The main function of tests that draw new random graphs or rule mutants in each run.
#ifndef LEMMA_TESTS_RUNTIME_SEEDED_MAIN_H_
#define LEMMA_TESTS_RUNTIME_SEEDED_MAIN_H_

#include <cstdint>

namespace lemma {

struct SeedFlags {
  uint64_t first_seed = 0;  // --first_seed=N; by default a random number; printed at the start
  int64_t graphs = 0;       // --graphs=N; 0: the test's default
  int64_t mutants = 0;      // --mutants=N; 0: the test's default
};
// The flags of this run.
const SeedFlags& Seeds();

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_SEEDED_MAIN_H_
