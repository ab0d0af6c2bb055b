// Lets tests that repeat something many times do fewer repetitions by default.
#ifndef LEMMA_TESTS_BASE_REPETITIONS_H_
#define LEMMA_TESTS_BASE_REPETITIONS_H_

#include <cstdlib>

namespace lemma {

// `whole` under `tools/test --all` (which sets LEMMA_WHOLE_TESTS), otherwise `part`.
inline int WholeOr(int whole, int part) {
  return std::getenv("LEMMA_WHOLE_TESTS") != nullptr ? whole : part;
}

}  // namespace lemma

#endif  // LEMMA_TESTS_BASE_REPETITIONS_H_
