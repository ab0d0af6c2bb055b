// The main function of tests that draw other random graphs, or mutants of rules, in each run.
#ifndef LEMMA_TESTS_RUNTIME_SEEDED_MAIN_H_
#define LEMMA_TESTS_RUNTIME_SEEDED_MAIN_H_

#include <cstdint>

namespace lemma {

struct SeedFlags {
  uint64_t first_seed = 0;  // --first_seed=N; drawn from the system, and printed, unless given
  int64_t graphs = 0;       // --graphs=N; 0: as many as the test wants
  int64_t mutants = 0;      // --mutants=N; the same
};
const SeedFlags& Seeds();

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_SEEDED_MAIN_H_
