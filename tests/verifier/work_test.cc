// Limits on the work of a computation, and interruptions.
#include "base/work.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/verifier/prover_testutil.h"
#include "verifier/preconditions/precondition.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(WorkTest, EndsWhenMoreIsDoneThanTheLimit) {
  WorkScope scope(100000);
  for (int i = 0; i < 100000; ++i) SpendWork(1);
  EXPECT_EQ(scope.spent(), 100000);
  EXPECT_THROW(SpendWork(1), WorkEnded);
  EXPECT_THROW(SpendWork(1), WorkEnded);  // and for good
}

TEST(WorkTest, AnInnerScopeCountsForTheOuterOne) {
  WorkScope outer(1000);
  SpendWork(10);
  {
    WorkScope inner(500);
    SpendWork(400);
    EXPECT_EQ(inner.spent(), 400);
    EXPECT_THROW(SpendWork(101), WorkEnded);
  }
  EXPECT_EQ(outer.spent(), 511);
  SpendWork(400);
  WorkScope inner(500);
  try {
    SpendWork(100);
    FAIL();
  } catch (const WorkEnded& end) {
    EXPECT_EQ(end.Reason("a test"), "work limit of 1000 steps reached in a test");
  }
}

TEST(WorkTest, WithoutAScopeNothingEnds) {
  { WorkScope scope(1); }
  SpendWork(kUnlimitedWork / 2);
  SpendWork(kUnlimitedWork / 2);
  SpendWork(kUnlimitedWork / 2);
}

TEST(WorkTest, IsInterruptedSoon) {
  std::atomic<bool> interrupted{false};
  WorkScope scope(kUnlimitedWork, &interrupted);
  SpendWork(1000000);
  interrupted = true;
  EXPECT_THROW(for (int i = 0; i < 100000; ++i) SpendWork(1), WorkEnded);
}

// True, but proving it would take unbounded time: poolings in two orders, each a maximum over all
// choices.
constexpr char kLong[] = R"(rule poolings(x: [n,c,h,w]) bit_exact {
  a = max_pool2d(x) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  b = max_pool2d(a) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  c1 = max_pool2d(b) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  r = relu(c1)
  y = max_pool2d(r) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  return y
} => {
  a = max_pool2d(x) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  r = relu(a)
  b = max_pool2d(r) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  c1 = max_pool2d(b) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  y = max_pool2d(c1) {kernel = [3, 3], pads = [1, 1, 1, 1]}
  return y
})";

std::string Reason(const Verdict& verdict) {
  auto* unknown = std::get_if<Unknown>(&verdict);
  return unknown != nullptr ? unknown->reason : ToString(verdict);
}

TEST(ProofWorkTest, ALongProofIsUnknown) {
  ProverOptions options;
  options.work = 20'000'000;
  const std::string reason = Reason(ProveText(kLong, options));
  EXPECT_THAT(reason, StartsWith("work limit of 20000000 steps reached in the "));
  EXPECT_EQ(Reason(ProveText(kLong, options)), reason);
}

// Earlier proofs, and answers that the solver remembers, change nothing.
TEST(ProofWorkTest, TheLimitIsExact) {
  const char* rule = R"(rule merge(x: [n,g*c,h,w], f: [g*k,c,r,s], e: [g*k,c,r,s]) reassociates {
    p = conv2d(x, f) {groups = g}
    q = conv2d(x, e) {groups = g}
    y = add(p, q)
    return y
  } => {
    s = add(f, e)
    y = conv2d(x, s) {groups = g}
    return y
  })";
  ProverOptions options;
  const Verdict verdict = ProveText(rule, options);
  ASSERT_TRUE(IsProved(verdict)) << ToString(verdict);
  options.work = std::get<Proved>(verdict).work;
  const Verdict again = ProveText(rule, options);
  ASSERT_TRUE(IsProved(again)) << ToString(again);
  EXPECT_EQ(std::get<Proved>(again).work, options.work);
  --options.work;
  EXPECT_THAT(Reason(ProveText(rule, options)),
              HasSubstr(absl::StrCat("work limit of ", options.work, " steps reached in ")));
}

TEST(ProofWorkTest, CanBeInterrupted) {
  std::atomic<bool> interrupted{false};
  ProverOptions options;
  options.work = kUnlimitedWork;
  options.interrupted = &interrupted;
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    interrupted = true;
  });
  EXPECT_EQ(Reason(ProveText(kLong, options)), "interrupted");
  user.join();
}

// Proved if g = 1: the rule conv_outputs of unguarded.txt.
constexpr char kNeedsGuard[] =
    R"(rule conv_outputs(x: [n,g*c,h,w], f: [k1,c,r,s], e: [k2,c,r,s]) bit_exact {
  p = conv2d(x, f) {groups = g}
  q = conv2d(x, e) {groups = g}
  z = concat(p, q) {axis = 1}
  return z
} => {
  fe = concat(f, e) {axis = 0}
  z = conv2d(x, fe) {groups = g}
  return z
})";

TEST(SynthesisWorkTest, IsBoundedAsAWhole) {
  PreconditionOptions options;
  bool stopped_at_guard = false;  // refuted, but no guard looked for to the end
  for (options.work = 20'000;; options.work *= 2) {
    const Precondition found = SynthesizePrecondition(Rules(kNeedsGuard)[0], {}, options);
    if (found.proved()) break;
    EXPECT_THAT(found.reason, StartsWith(absl::StrCat("work limit of ", options.work, " steps")));
    stopped_at_guard = stopped_at_guard || IsRefuted(found.without);
    ASSERT_LT(options.work, PreconditionOptions().work);
  }
  EXPECT_TRUE(stopped_at_guard);
}

TEST(SynthesisWorkTest, CanBeInterrupted) {
  const std::atomic<bool> interrupted{true};
  ProverOptions options;
  options.interrupted = &interrupted;
  const Precondition found = SynthesizePrecondition(Rules(kNeedsGuard)[0], options);
  EXPECT_FALSE(found.proved());
  EXPECT_EQ(found.reason, "interrupted");
}

}  // namespace
}  // namespace lemma
