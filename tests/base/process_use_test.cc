#include "base/process_use.h"

#include <cstring>
#include <memory>

#include "gtest/gtest.h"

namespace lemma {
namespace {

TEST(ProcessMemoryTest, ThePeakIsForgotten) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  {
    const auto block = std::make_unique<char[]>(kBytes);
    std::memset(block.get(), 1, kBytes);
    EXPECT_GE(ProcessMemory::Now().bytes, kBytes);
  }
  const ProcessMemory before = ProcessMemory::Now();
  EXPECT_GE(before.peak_bytes, before.bytes + kBytes / 2);
  ProcessMemory::ForgetPeak();
  EXPECT_LT(ProcessMemory::Now().peak_bytes, before.peak_bytes - kBytes / 2);
}

}  // namespace
}  // namespace lemma
