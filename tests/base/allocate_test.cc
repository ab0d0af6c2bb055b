#include "base/memory/allocate.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "gtest/gtest.h"

namespace lemma {
namespace {

TEST(AllocateTest, IsAlignedAndWritable) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{64}, size_t{100}, kHugeFrom - 1,
                             kHugeFrom, kHugeFrom + 1, 3 * kHugeFrom + 77}) {
    void* memory = AllocateAligned(bytes);
    ASSERT_NE(memory, nullptr) << bytes;
    const size_t alignment = bytes < kHugeFrom ? 64 : size_t{2} << 20;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0) << bytes;
    std::memset(memory, 1, bytes);
    std::free(memory);
  }
}

TEST(AllocateTest, TooMuchIsNull) {
  EXPECT_EQ(AllocateAligned(SIZE_MAX), nullptr);
  EXPECT_EQ(AllocateAligned(PTRDIFF_MAX), nullptr);
  EXPECT_EQ(AllocateAligned(PTRDIFF_MAX / 2), nullptr);
}

}  // namespace
}  // namespace lemma
