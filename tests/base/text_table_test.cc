#include "base/text_table.h"

#include "gtest/gtest.h"

namespace lemma {
namespace {

TEST(TextTableTest, DurationsGrowCoarser) {
  EXPECT_EQ(FormatDuration(99), "99 s");
  EXPECT_EQ(FormatDuration(720), "12 min");
  EXPECT_EQ(FormatDuration(12600), "3.5 h");
}

TEST(TextTableTest, OneIsSingular) {
  EXPECT_EQ(FormatCount(0, "step"), "0 steps");
  EXPECT_EQ(FormatCount(1, "step"), "1 step");
}

// U+0080 to U+009F are control characters; é and … are none.
TEST(TextTableTest, ControlCharactersAreShown) {
  EXPECT_EQ(Printable("a\x1b[2K\r\x7f"), "a\\x1b[2K\\x0d\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(Printable("é…"), "é…");
}

TEST(TextTableTest, ShortensByCharacters) {
  EXPECT_EQ(Shortened("äöü", 3), "äöü");
  EXPECT_EQ(Shortened("äöüß", 3), "äö…");
  EXPECT_EQ(Shortened("ab", 1), "…");
}

}  // namespace
}  // namespace lemma
