#include "graph/onnx/opsets/version_converter.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

TEST(OpsetOfChangeTest, FindsTheFirstChangeInTheRange) {
  EXPECT_EQ(OpsetOfChange("Clip", 7, 10), 0);
  EXPECT_EQ(OpsetOfChange("Clip", 7, 11), 11);
  EXPECT_EQ(OpsetOfChange("Resize", 11, 18), 13);
  EXPECT_EQ(OpsetOfChange("Relu", 7, 18), 0);
}

TEST(OpsetOfChangeTest, LaterChangesDoNotHideThatOfBroadcasting) {
  EXPECT_EQ(OpsetOfChange("BatchNormalization", 6, 10), 7);
  EXPECT_EQ(OpsetOfChange("Clip", 1, 10), OpsetOfChange("Clip", 1, 7));
  EXPECT_EQ(OpsetOfChange("Upsample", 1, 8), 7);
  EXPECT_EQ(OpsetOfChange("Add", 6, 13), 7);
}

}  // namespace
}  // namespace lemma
