// Chains of element-wise steps on vectors give what they give on single numbers.
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/cpu/kernels/integers/chain.h"
#include "runtime/cpu/kernels/integers/tiles.h"

namespace lemma {
namespace {

// Numbers in registers take the steps that single ones take.
TEST(Chains, DoNotDependOnVectors) {
  using kernels::ChainStep;
  using Kind = ChainStep::Kind;
  constexpr int64_t kRows = 3, kColumns = 64 + 32 + 16 + 8 + 3;  // of every kind of block
  constexpr ScalarFn kFunctions[] = {ScalarFn::kExp, ScalarFn::kLog, ScalarFn::kSqrt,
                                     ScalarFn::kErf, ScalarFn::kTanh};
  std::mt19937_64 random(9);
  std::vector<float> x(kRows * kColumns), full(x.size()), vector(kColumns);
  std::vector<uint8_t> bytes(x.size());
  std::uniform_real_distribution<float> any(-300, 300);
  for (auto* values : {&x, &full, &vector}) {
    for (float& v : *values)
      v = random() % 4 == 0 ? std::nearbyint(any(random)) + 0.5f : any(random);
  }
  for (uint8_t& v : bytes) v = static_cast<uint8_t>(random());
  x[0] = x[40] = NAN;
  x[1] = x[41] = INFINITY;
  x[2] = x[42] = -INFINITY;
  x[3] = x[43] = 1e-44f;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<ChainStep> steps;
    for (const int n = 1 + static_cast<int>(random() % 12); static_cast<int>(steps.size()) < n;) {
      ChainStep s;
      s.kind = static_cast<Kind>(random() % (static_cast<uint64_t>(Kind::kSelectOther) + 1));
      s.function = kFunctions[random() % std::size(kFunctions)];
      s.number = random() % 3 == 0 ? -1.5f : 7.25f;
      s.on_other = s.kind < Kind::kLoadU8 && random() % 4 == 0;
      s.offset = 3;
      s.low = -128;
      s.high = 127;
      s.data = s.kind == Kind::kLoadF32      ? static_cast<const void*>(full.data())
               : s.kind == Kind::kLoadVector ? static_cast<const void*>(vector.data())
                                             : bytes.data();
      s.data_step = kColumns;
      steps.push_back(s);
    }
    const auto result = static_cast<kernels::ChainResult>(random() % 3);
    if (result != kernels::ChainResult::kF32) {
      steps.push_back({Kind::kNarrow});
      steps.back().low = result == kernels::ChainResult::kU8 ? 0 : -128;
      steps.back().high = steps.back().low + 255;
    }
    const int count = static_cast<int>(steps.size());
    std::vector<float> together(x.size()), alone(x.size());
    kernels::ApplyChain(x.data(), kColumns, kRows, kColumns, steps.data(), count, result,
                        together.data(), kColumns);
    const int64_t size = result == kernels::ChainResult::kF32 ? 4 : 1;
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      std::vector<ChainStep> own = steps;
      for (ChainStep& s : own) {
        const int64_t at = kernels::IsVector(s.kind) ? i % kColumns : i;
        const bool floats = s.kind == Kind::kLoadF32 || s.kind == Kind::kLoadVector;
        s.data = static_cast<const char*>(s.data) + at * (floats ? 4 : 1);
      }
      kernels::ApplyChain(x.data() + i, 1, 1, 1, own.data(), count, result,
                          reinterpret_cast<char*>(alone.data()) + i * size, 1);
    }
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      if (result != kernels::ChainResult::kF32) {
        ASSERT_EQ(reinterpret_cast<uint8_t*>(together.data())[i],
                  reinterpret_cast<uint8_t*>(alone.data())[i])
            << trial << ": " << i;
      } else if (!std::isnan(alone[i])) {
        ASSERT_EQ(together[i], alone[i]) << trial << ": " << i;
      } else {
        ASSERT_TRUE(std::isnan(together[i])) << trial << ": " << i;
      }
    }
  }
}

// Quotients near halves, where another rounding of a quotient gives another integer.
TEST(Chains, QuotientsAreRoundedOnce) {
  using kernels::ChainStep;
  std::mt19937_64 random(15);
  std::uniform_real_distribution<float> any(1e-3f, 1.0f);
  constexpr int64_t kCount = 64 * 64;
  for (int trial = 0; trial < 200; ++trial) {
    const float number = trial == 0   ? 1e-45f
                         : trial == 1 ? -0.0f
                         : trial == 2
                             ? 3e38f
                             : std::ldexp(any(random), static_cast<int>(random() % 60) - 30);
    std::vector<float> x(kCount);
    for (float& v : x) {
      v = number * (static_cast<float>(static_cast<int>(random() % 600) - 300) + 0.5f);
      for (uint64_t steps = random() % 4; steps-- > 0;) {
        v = std::nextafter(v, random() % 2 == 0 ? -INFINITY : INFINITY);
      }
    }
    x[0] = NAN;
    x[1] = INFINITY;
    x[2] = -INFINITY;
    x[3] = 3e38f;
    ChainStep step{ChainStep::Kind::kQuantize};
    step.number = number;
    step.offset = 3;
    step.low = -128;
    step.high = 127;
    std::vector<int8_t> together(kCount), alone(kCount);
    kernels::ApplyChain(x.data(), kCount, 1, kCount, &step, 1, kernels::ChainResult::kI8,
                        together.data(), kCount);
    kernels::ApplyChain(x.data(), kCount, 1, kCount, &step, 1, kernels::ChainResult::kI8,
                        alone.data(), kCount, kernels::IntegerIsa::kNone);
    ASSERT_EQ(together, alone) << number;
  }
}

}  // namespace
}  // namespace lemma
