#include "base/memory/huge_pages.h"

#include <vector>

#include "gtest/gtest.h"

namespace lemma {
namespace {

TEST(HugePagesTest, ChangesNoElement) {
  for (const size_t bytes : {size_t{0}, size_t{100}, size_t{5} << 20}) {
    std::vector<char> memory(bytes + 1, 'x');
    PreferHugePages(memory.data() + 1, bytes);
    EXPECT_EQ(memory, std::vector<char>(bytes + 1, 'x')) << bytes;
  }
}

}  // namespace
}  // namespace lemma
