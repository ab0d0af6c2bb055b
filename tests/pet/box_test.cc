#include "pet/regions/box.h"

#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lemma::pet {
namespace {

TEST(BoxTest, Text) {
  EXPECT_EQ(ToString(Box{{0, 4, 1}, {2, 1, 1}, {1, 3, 2}}), "[0:4, 2, 1:6:2]");
}

TEST(BoxTest, PartsAndResidues) {
  const Range range = {3, 7, 2};  // 3, 5, …, 15
  EXPECT_EQ(range.Part(2, 3), (Range{7, 3, 2}));
  EXPECT_EQ(range.Residue(1, 3), (Range{5, 2, 6}));
  EXPECT_TRUE(range.Contains(15));
  EXPECT_FALSE(range.Contains(4));
  EXPECT_FALSE(range.Contains(17));
}

TEST(BoxTest, MergedBoxesHoldTheSamePositions) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    std::set<std::vector<int64_t>> positions;
    std::vector<Box> boxes;
    ForEachPosition(WholeBox({3, 4, 6}), [&](const std::vector<int64_t>& index) {
      if (random() % 3 == 0) return;
      positions.insert(index);
      boxes.push_back({{index[0], 1, 1}, {index[1], 1, 1}, {index[2], 1, 1}});
    });
    const size_t before = boxes.size();
    boxes = MergeBoxes(std::move(boxes));
    EXPECT_LT(boxes.size(), before);
    std::set<std::vector<int64_t>> merged;
    for (const Box& box : boxes) {
      ForEachPosition(box, [&](const std::vector<int64_t>& index) {
        EXPECT_TRUE(merged.insert(index).second) << "two boxes overlap";
      });
    }
    EXPECT_EQ(merged, positions);
  }
}

TEST(BoxTest, WholeRowsAndStepsAreFound) {
  std::vector<Box> boxes;
  for (int64_t n : {0, 2, 4}) {
    for (int64_t h = 0; h < 3; ++h) boxes.push_back({{n, 1, 1}, {h, 1, 1}});
  }
  EXPECT_EQ(MergeBoxes(boxes), (std::vector<Box>{{{0, 3, 2}, {0, 3, 1}}}));
}

}  // namespace
}  // namespace lemma::pet
