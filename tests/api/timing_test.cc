#include "api/execution/timing.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace lemma {
namespace {

TEST(TimingTest, Median) {
  EXPECT_EQ(api::Median({3, 1, 2}), 2);
  EXPECT_EQ(api::Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(api::Median({}), 0);
}

TEST(TimingTest, PairsRounds) {
  // A disturbance in one round slows both executions, so it leaves the ratio alone.
  const api::RatioInterval ratio = api::PairedRatio({10, 80, 12}, {5, 40, 6});
  EXPECT_EQ(ratio.low, 0.5);
  EXPECT_EQ(ratio.median, 0.5);
  EXPECT_EQ(ratio.high, 0.5);
}

// Sorted positions from tables of the sign test's interval for a median; for 1075 and 2000 rounds
// from sums of binomial coefficients in Python's integers (0.5^1075 is 0 in f64).
TEST(TimingTest, IntervalOfAMedian) {
  for (auto [n, position] :
       {std::pair{5, 1}, {6, 1}, {9, 2}, {15, 4}, {30, 10}, {60, 22}, {1075, 505}, {2000, 956}}) {
    std::vector<double> ones(n, 1), ratios(n);
    for (int i = 0; i < n; ++i) ratios[i] = n - i;
    const api::RatioInterval ratio = api::PairedRatio(ones, ratios);
    EXPECT_EQ(ratio.low, position) << n;
    EXPECT_EQ(ratio.high, n + 1 - position) << n;
  }
}

// Notes its name at each run.
class Fake : public Executable {
 public:
  Fake(char name, std::string* log) : name_(name), log_(log) {}
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor>) override {
    *log_ += name_;
    return std::vector<Tensor>();
  }
  absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                               std::vector<KernelTiming>*) override {
    return Run(inputs);
  }
  MemoryUse memory() const override { return {}; }
  std::string Describe() const override { return ""; }

 private:
  const char name_;
  std::string* const log_;
};

// Its kernels take one millisecond more each time.
class Slowing : public Fake {
 public:
  using Fake::Fake;
  absl::StatusOr<std::vector<Tensor>> RunTimed(absl::Span<const Tensor> inputs,
                                               std::vector<KernelTiming>* timings) override {
    ++ms_;
    *timings = {{"relu", "a", ms_, "", "relu()", {}},
                {"relu", "b", 3 * ms_, "", "relu()", {}},
                {"view", "c", 1, "", "", {}}};
    return Run(inputs);
  }

 private:
  double ms_ = 0;
};

TEST(TimingTest, ProfilesInTurn) {
  std::string log;
  Slowing a('a', &log), b('b', &log);
  auto profiles = api::ProfileAlternating({&a, &b}, {}, 5, 60);
  ASSERT_TRUE(profiles.ok());
  EXPECT_EQ(log, "ababababab");
  ASSERT_EQ(profiles->size(), 2u);
  EXPECT_EQ((*profiles)[0][1].ms, 9);
  EXPECT_EQ(api::TimesBySignature(*profiles), (optimizer::KernelTimes{{"relu()", 6}}));
}

TEST(TimingTest, AfterADeadlineOneRunIsProfiled) {
  std::string log;
  Slowing a('a', &log);
  std::atomic<bool> interrupted{false};
  const Deadline deadline = Deadline::After(0, &interrupted);
  ASSERT_TRUE(api::ProfileRuns(&a, {}, 5, deadline).ok());
  EXPECT_EQ(log, "aaaaa");
  interrupted = true;
  auto profile = api::ProfileRuns(&a, {}, 5, deadline);
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(log, "aaaaaa");
  EXPECT_EQ(profile->size(), 3u);
}

TEST(TimingTest, AlternatesAfterAWarmUp) {
  std::string log;
  Fake a('a', &log), b('b', &log);
  auto ms = api::TimeAlternating({&a, &b}, {}, 4, 60);
  ASSERT_TRUE(ms.ok());
  EXPECT_EQ(log, "ababababab");
  EXPECT_EQ((*ms)[0].size(), 4u);
  EXPECT_EQ((*ms)[1].size(), 4u);
}

TEST(TimingTest, StopsWhenTimeIsUpButNotBeforeThreeRounds) {
  std::string log;
  Fake a('a', &log);
  auto ms = api::TimeAlternating({&a}, {}, 100, 0);
  ASSERT_TRUE(ms.ok());
  EXPECT_EQ((*ms)[0].size(), 3u);
}

}  // namespace
}  // namespace lemma
