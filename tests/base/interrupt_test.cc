#include "base/interrupt.h"

#include <csignal>

#include "gtest/gtest.h"

namespace lemma {
namespace {

volatile sig_atomic_t handled = 0;

TEST(InterruptScopeTest, TheFirstInterruptSetsTheFlagAndTheSecondIsHandledAsBefore) {
  handled = 0;
  const auto before = std::signal(SIGINT, [](int) { handled = handled + 1; });
  {
    const InterruptScope scope;
    EXPECT_FALSE(scope.flag());
    std::raise(SIGINT);
    EXPECT_TRUE(scope.flag());
    EXPECT_EQ(handled, 0);
    std::raise(SIGINT);
    EXPECT_EQ(handled, 1);
    std::raise(SIGINT);
    EXPECT_EQ(handled, 2);
  }
  EXPECT_FALSE(InterruptScope::Flag());
  std::raise(SIGINT);
  EXPECT_EQ(handled, 3);
  std::signal(SIGINT, before);
}

TEST(InterruptScopeTest, TheSecondInterruptEndsAProgramWithoutAHandler) {
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_DFL);
        const InterruptScope scope;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptScopeTest, AnIgnoredInterruptStaysIgnored) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const InterruptScope scope;
    std::raise(SIGINT);
    EXPECT_FALSE(scope.flag());
  }
  std::signal(SIGINT, before);
}

}  // namespace
}  // namespace lemma
