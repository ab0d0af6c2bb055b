// Flags of tests that draw new random graphs or mutants of rules in each run. Linking this library
// gives such a test its main function.
#ifndef LEMMA_TESTS_RUNTIME_SEEDED_MAIN_H_
#define LEMMA_TESTS_RUNTIME_SEEDED_MAIN_H_

#include <cstdint>

namespace lemma {

struct SeedFlags {
  uint64_t first_seed = 0;  // --first_seed=N; by default a random number; printed at the start
  int64_t graphs = 0;       // --graphs=N: how many graphs to draw; 0: the test's default
  int64_t mutants = 0;      // --mutants=N: how many mutants to draw; 0: the test's default
};
// The flags of this run.
const SeedFlags& Seeds();

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_SEEDED_MAIN_H_
