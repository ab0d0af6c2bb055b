#include "base/deadline.h"

#include <atomic>

#include "gtest/gtest.h"

namespace lemma {
namespace {

constexpr double kSoon = 1e-9, kLater = 1000;  // seconds

TEST(DeadlineTest, PassesAtItsTimeOrWhenInterrupted) {
  std::atomic<bool> interrupted{false};
  EXPECT_FALSE(Deadline().Passed());
  EXPECT_TRUE(Deadline::After(kSoon).Passed());
  const Deadline deadline = Deadline::After(kLater, &interrupted);
  EXPECT_FALSE(deadline.Passed());
  interrupted = true;
  EXPECT_TRUE(deadline.Passed());
  EXPECT_FALSE(deadline.WithoutInterruption().Passed());
  EXPECT_GT(deadline.WithoutInterruption().seconds_left(), kLater / 2);
}

TEST(DeadlineTest, WithAtLeastGivesWhatFollowsSomeTime) {
  std::atomic<bool> interrupted{false};
  const Deadline passed = Deadline::After(kSoon, &interrupted);
  EXPECT_FALSE(passed.WithAtLeast(kLater).Passed());
  EXPECT_TRUE(passed.WithAtLeast(kSoon).Passed());
  EXPECT_GT(Deadline::After(kLater).WithAtLeast(1).seconds_left(), kLater / 2);
  EXPECT_EQ(Deadline().WithAtLeast(kSoon).seconds_left(), 0);  // never stays never
  interrupted = true;
  EXPECT_TRUE(passed.WithAtLeast(kLater).Passed());
}

TEST(DeadlineTest, AgainIsAsLongAgain) {
  const Deadline deadline = Deadline::After(kLater).Half();
  EXPECT_LT(deadline.seconds_left(), 0.6 * kLater);
  EXPECT_GT(deadline.Again().seconds_left(), 0.9 * kLater);
  EXPECT_EQ(Deadline().Again().seconds_left(), 0);
}

}  // namespace
}  // namespace lemma
