#include "base/parallel.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

// How often each of n indices is visited.
std::vector<int> Visits(int threads, int64_t n) {
  std::vector<std::atomic<int>> counts(n);
  ParallelFor(threads, n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++counts[i];
  });
  return std::vector<int>(counts.begin(), counts.end());
}

TEST(ParallelFor, VisitsEachIndexOnce) {
  for (int threads : {1, 2, 5}) {
    for (int64_t n : {0, 1, 3, 1000}) {
      EXPECT_THAT(Visits(threads, n), testing::Each(1));
    }
  }
}

TEST(ParallelFor, MayBeNestedAndCalledFromSeveralThreads) {
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        ParallelFor(3, 10, [&](int64_t begin, int64_t end) {
          for (int64_t j = begin; j < end; ++j) {
            ParallelFor(3, 7, [&](int64_t from, int64_t to) { total += to - from; });
          }
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 50 * 70);
}

}  // namespace
}  // namespace lemma
