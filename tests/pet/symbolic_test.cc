#include "pet/symbolic/symbolic.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "pet/mutants/mutant.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::pet {
namespace {

Graph Conv(const std::string& shape, const std::string& attrs) {
  auto graph = ParseGraph("graph g(x: f32" + shape + ", w: weight f32[3,2,3,3]) {\n" +
                          "y = conv2d(x, w) {" + attrs + "}\n return y }");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// The proved region of the mutant with this description.
SymbolicRegion RegionOf(const Graph& graph, const std::string& how) {
  std::optional<Recipe> recipe;
  auto status = ForEachMutant(graph, {}, [&](Mutant mutant) {
    if (mutant.how() == how) recipe = mutant.recipe;
    return !recipe;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(recipe.has_value()) << how;
  if (!recipe) return {};
  auto region = ProveForAllSizes(graph, *recipe);
  EXPECT_TRUE(region.ok()) << region.status();
  if (!region.ok()) return {};
  for (size_t i = 0; i < region->verdicts.size(); ++i) {
    EXPECT_TRUE(IsProved(region->verdicts[i]))
        << PrintRule(region->rules[i]) << ToString(region->verdicts[i]);
  }
  return *std::move(region);
}

TEST(SymbolicRegionTest, HeightSplitInHalves) {
  const SymbolicRegion region =
      RegionOf(Conv("[2,2,8,4]", "pads = [1,1,1,1]"), "first digit 2 of dim 2 to dim 0 (first)");
  EXPECT_THAT(region.differing_boxes, testing::ElementsAre("[0:n0, 0:n4, n2 + -1:n2 + 1, 0:n3]"));
  EXPECT_EQ(region.rules.size(), 2u);
  // Each window lacks one of its three rows, and none or one of its three columns.
  std::vector<std::string> proved, open;
  for (size_t i = 0; i < region.counted_boxes.size(); ++i) {
    (region.differs_proved(i) ? proved : open).push_back(region.counted_boxes[i]);
  }
  EXPECT_THAT(proved,
              testing::UnorderedElementsAre("[0:n0, 0:n4, n2 + -1, 0]: 6 * n1 and 4 * n1",
                                            "[0:n0, 0:n4, n2 + -1, 1:n3 + -1]: 9 * n1 and 6 * n1",
                                            "[0:n0, 0:n4, n2 + -1, n3 + -1]: 6 * n1 and 4 * n1",
                                            "[0:n0, 0:n4, n2, 0]: 6 * n1 and 4 * n1",
                                            "[0:n0, 0:n4, n2, 1:n3 + -1]: 9 * n1 and 6 * n1",
                                            "[0:n0, 0:n4, n2, n3 + -1]: 6 * n1 and 4 * n1"));
  EXPECT_THAT(open, testing::IsEmpty());
}

// The number of parts of this mutant depends on the sizes.
TEST(SymbolicRegionTest, NoMoreIsSaidThanIsProved) {
  const SymbolicRegion region =
      RegionOf(Conv("[4,2,3,5]", "pads = [1,1,1,1]"), "last digit 2 of dim 0 to dim 3 (first)");
  EXPECT_EQ(region.differing_boxes.size(), 2u);
  EXPECT_TRUE(region.counted_boxes.empty());
  EXPECT_NE(region.not_counted, "");
}

TEST(SymbolicRegionTest, BatchPairsFoldedIntoWidthWithAGap) {
  const SymbolicRegion region =
      RegionOf(Conv("[4,2,3,5]", "pads = [1,1,1,1]"),
               "pad dim 3 by 0+1, last digit 2 of dim 0 to dim 3 (first)");
  EXPECT_TRUE(region.differing_boxes.empty());
  EXPECT_EQ(region.rules.size(), 1u);
}

TEST(SymbolicRegionTest, PhasesOfADilatedConvolution) {
  const SymbolicRegion region =
      RegionOf(Conv("[1,2,8,6]", "pads = [2,2,2,2], dilations = [2,2]"),
               "last digit 2 of dim 2 to dim 0 (first), last digit 2 of dim 3 to dim 0 (first); "
               "attributes divided");
  EXPECT_TRUE(region.differing_boxes.empty());
}

}  // namespace
}  // namespace lemma::pet
