#include "runtime/plan/memory_plan.h"

#include <random>

#include "gtest/gtest.h"

namespace lemma {
namespace {

TEST(MemoryPlan, ReusesDeadBuffers) {
  const std::vector<BufferLife> lives = {{1000, 0, 1}, {500, 1, 2}, {1000, 2, 3}};
  const MemoryPlan plan = PlanMemory(lives);
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
  EXPECT_EQ(plan.total_bytes, 1024 + 512);
  EXPECT_EQ(plan.live_bytes, 1024 + 512);
}

TEST(MemoryPlan, RandomPlansAreSound) {
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<BufferLife> lives;
    for (int i = 0; i < 40; ++i) {
      const int first = static_cast<int>(random() % 30);
      lives.push_back(
          {static_cast<int64_t>(random() % 5000), first, first + static_cast<int>(random() % 6)});
    }
    const MemoryPlan plan = PlanMemory(lives);
    EXPECT_TRUE(CheckMemoryPlan(lives, plan).ok()) << "seed " << seed;
    EXPECT_GE(plan.total_bytes, plan.live_bytes);
  }
}

TEST(MemoryPlan, CheckerFindsOverlap) {
  const std::vector<BufferLife> lives = {{100, 0, 2}, {100, 1, 3}};
  MemoryPlan plan = PlanMemory(lives);
  plan.offsets[1] = plan.offsets[0] + 64;
  EXPECT_EQ(CheckMemoryPlan(lives, plan).message(), "buffers 0 and 1 overlap");
  plan.offsets[1] = 1 << 20;
  EXPECT_EQ(CheckMemoryPlan(lives, plan).message(), "buffer 1 leaves the arena");
}

}  // namespace
}  // namespace lemma
