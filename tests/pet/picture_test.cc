#include "pet/regions/picture.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lemma::pet {
namespace {

Region FoldedPairs() {
  Region region;
  region.shape = {4, 1, 3, 5};
  region.differs = {{{0, 2, 2}, {0, 1, 1}, {0, 3, 1}, {4, 1, 1}},
                    {{1, 2, 2}, {0, 1, 1}, {0, 3, 1}, {0, 1, 1}}};
  return region;
}

TEST(PictureTest, OneGridForEachThatOccurs) {
  EXPECT_EQ(TextPicture(FoldedPairs()),
            "at [0:3:2, *]:\n"
            "  ....#\n"
            "  ....#\n"
            "  ....#\n"
            "at [1:4:2, *]:\n"
            "  #....\n"
            "  #....\n"
            "  #....\n");
}

TEST(PictureTest, RowsOfATensorOfOneDimension) {
  Region region;
  region.shape = {8};
  region.differs = {{{2, 4, 1}}};
  EXPECT_EQ(TextPicture(region), "  ..####..\n");
}

TEST(PictureTest, SvgHasASquareForEachPosition) {
  const std::string svg = SvgPicture(FoldedPairs());
  auto count = [&](const std::string& what) {
    int n = 0;
    for (size_t at = svg.find(what); at != svg.npos; at = svg.find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("<rect"), 30);
  EXPECT_EQ(count("#c33"), 6);
  EXPECT_THAT(svg, testing::HasSubstr("at [0:3:2, *]"));
}

}  // namespace
}  // namespace lemma::pet
