#include "pet/regions/region.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/pet/polynomial_oracle.h"

namespace lemma::pet {
namespace {

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// The region, which the oracle has to confirm position by position.
Region RegionOf(const std::string& original, const std::string& mutant) {
  const Graph a = Parse(original), b = Parse(mutant);
  auto region = FindRegion(a, b);
  EXPECT_TRUE(region.ok()) << region.status();
  if (!region.ok()) return Region();
  std::vector<int64_t> positions;
  ForEachPosition(WholeBox(region->shape), [&, flat = int64_t{0}](const auto& index) mutable {
    if (region->Contains(index)) positions.push_back(flat);
    ++flat;
  });
  EXPECT_EQ(positions, DifferingPositions(a, b));
  EXPECT_EQ(region->positions, static_cast<int64_t>(positions.size()));
  EXPECT_EQ(region->tested, NumElements(region->shape));
  // Also with the check that samples only corners and one position inside of each cell.
  RegionOptions options;
  options.whole_test_ops = 0;
  EXPECT_TRUE(FindRegion(a, b, options).ok());
  return *std::move(region);
}

std::string Boxes(const Region& region) {
  std::string text;
  for (const Box& box : region.differs) text += ToString(box);
  return text;
}

std::string Conv(const std::string& shape, const std::string& body) {
  return "graph g(x: f32" + shape + ", w: weight f32[1," + shape.substr(3, 1) + ",3,3]) {\n" +
         body + " return y }";
}

constexpr char kConv[] = "y = conv2d(x, w) {pads = [1,1,1,1]}\n";

TEST(RegionTest, BatchPairsFoldedIntoWidth) {
  const std::string original = Conv("[4,1,3,5]", kConv);
  const Region region = RegionOf(original, Conv("[4,1,3,5]", R"(
      a = reshape(x) {shape = [2,2,1,3,5]}
      b = transpose(a) {perm = [0,2,3,1,4]}
      c = reshape(b) {shape = [2,1,3,10]}
      d = conv2d(c, w) {pads = [1,1,1,1]}
      e = reshape(d) {shape = [2,1,3,2,5]}
      f = transpose(e) {perm = [0,3,1,2,4]}
      y = reshape(f) {shape = [4,1,3,5]})"));
  EXPECT_EQ(region.positions, 12);
  EXPECT_EQ(Boxes(region), "[0:3:2, 0, 0:3, 4][1:4:2, 0, 0:3, 0]");
}

TEST(RegionTest, BatchPairsFoldedIntoWidthWithAGap) {
  const Region region = RegionOf(Conv("[4,1,3,5]", kConv), Conv("[4,1,3,5]", R"(
      p = pad(x) {pads = [0,0,0,0,0,0,0,1]}
      a = reshape(p) {shape = [2,2,1,3,6]}
      b = transpose(a) {perm = [0,2,3,1,4]}
      c = reshape(b) {shape = [2,1,3,12]}
      d = conv2d(c, w) {pads = [1,1,1,1]}
      e = reshape(d) {shape = [2,1,3,2,6]}
      f = transpose(e) {perm = [0,3,1,2,4]}
      h = reshape(f) {shape = [4,1,3,6]}
      y = slice(h) {starts = [0,0,0,0], sizes = [4,1,3,5]})"));
  EXPECT_TRUE(region.empty()) << Boxes(region);
}

TEST(RegionTest, HeightSplitInHalves) {
  const Region region = RegionOf(Conv("[1,1,8,4]", kConv), Conv("[1,1,8,4]", R"(
      a = reshape(x) {shape = [1,1,2,4,4]}
      b = transpose(a) {perm = [0,2,1,3,4]}
      c = reshape(b) {shape = [2,1,4,4]}
      d = conv2d(c, w) {pads = [1,1,1,1]}
      e = reshape(d) {shape = [1,2,1,4,4]}
      f = transpose(e) {perm = [0,2,1,3,4]}
      y = reshape(f) {shape = [1,1,8,4]})"));
  EXPECT_EQ(region.positions, 8);
  EXPECT_EQ(Boxes(region), "[0, 0, 3:5, 0:4]");
}

TEST(RegionTest, HeightSplitInHalvesWithAHalo) {
  const Region region = RegionOf(Conv("[1,1,8,4]", kConv), Conv("[1,1,8,4]", R"(
      p = pad(x) {pads = [0,0,1,0,0,0,1,0]}
      a = slice(p) {starts = [0,0,0,0], sizes = [1,1,6,4]}
      b = slice(p) {starts = [0,0,4,0], sizes = [1,1,6,4]}
      c = concat(a, b) {axis = 0}
      d = conv2d(c, w) {pads = [0,1,0,1]}
      y = reshape(d) {shape = [1,1,8,4]})"));
  EXPECT_TRUE(region.empty()) << Boxes(region);
}

// Phases of a dilated convolution moved to the batch; `size` is even.
std::string Phases(int size, int padded) {
  const std::string n = std::to_string(size), p = std::to_string(padded - size),
                    half = std::to_string(padded / 2), whole = std::to_string(padded);
  return "s = pad(x) {pads = [0,0,0,0,0,0," + p + "," + p + "]}\n a = reshape(s) {shape = [1,1," +
         half + ",2," + half + ",2]}\n b = transpose(a) {perm = [3,5,0,1,2,4]}\n" +
         "c = reshape(b) {shape = [4,1," + half + "," + half +
         "]}\n d = conv2d(c, w) {pads = [1,1,1,1]}\n e = reshape(d) {shape = [2,2,1,1," + half +
         "," + half +
         "]}\n f = transpose(e) {perm = [2,3,4,0,5,1]}\n h = reshape(f) {shape = [1,1," + whole +
         "," + whole + "]}\n y = slice(h) {starts = [0,0,0,0], sizes = [1,1," + n + "," + n +
         "]}\n";
}

TEST(RegionTest, PhasesOfADilatedConvolution) {
  const std::string dilated = "y = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2]}\n";
  EXPECT_TRUE(RegionOf(Conv("[1,1,14,14]", dilated), Conv("[1,1,14,14]", Phases(14, 14))).empty());
  EXPECT_TRUE(RegionOf(Conv("[1,1,7,7]", dilated), Conv("[1,1,7,7]", Phases(7, 8))).empty());
}

TEST(RegionTest, SwappedDigits) {
  const Region region = RegionOf(
      "graph g(x: f32[8]) { y = slice(x) {starts = [0], sizes = [8]}\n"
      "return y }",
      R"(graph g(x: f32[8]) {
      a = reshape(x) {shape = [2,2,2]}
      b = transpose(a) {perm = [1,0,2]}
      y = reshape(b) {shape = [8]}
      return y })");
  EXPECT_EQ(Boxes(region), "[2:6]");
}

TEST(RegionTest, StrideTwoIsSpaceToDepth) {
  // The 3x3 kernel as a 2x2 one over blocks of 2x2, aligned at the padding.
  const std::string head = "graph g(x: f32[2,3,9,10], w: weight f32[4,3,3,3]) {\n";
  const std::string original =
      head + "y = conv2d(x, w) {pads = [1,1,1,1], strides = [2,2]}\n return y }";
  const std::string mutant = head + R"(
      p = pad(x) {pads = [0,0,1,1,0,0,2,1]}
      a = space_to_depth(p) {block = 2}
      v = pad(w) {pads = [0,0,0,0,0,0,1,1]}
      b = space_to_depth(v) {block = 2}
      y = conv2d(a, b)
      return y })";
  EXPECT_TRUE(RegionOf(original, mutant).empty());
}

TEST(RegionTest, AveragePoolingAsConvolution) {
  const std::string head = "graph g(x: f32[2,3,6,7]) {\n w = constant f32[3,1,3,3] fill 1.0\n";
  const std::string mutant = head +
                             "c = conv2d(x, w) {pads = [1,1,1,1], groups = 3}\n"
                             "n = constant f32[] fill 9.0\n y = div(c, n)\n return y }";
  EXPECT_TRUE(RegionOf(head + "y = avg_pool2d(x) {kernel = [3,3], pads = [1,1,1,1], "
                              "count_include_pad = 1}\n return y }",
                       mutant)
                  .empty());
  // If padding is not counted, the border differs and nothing else.
  const Region border =
      RegionOf(head + "y = avg_pool2d(x) {kernel = [3,3], pads = [1,1,1,1]}\n return y }", mutant);
  EXPECT_EQ(border.positions, 6 * (42 - 20));
}

TEST(RegionTest, ChainsLoseWhatTheirGapsCarry) {
  // Two convolutions in the folded layout: the second one reads the gap that the first one fills.
  const std::string head = "graph g(x: f32[2,1,3,6], w: weight f32[1,1,3,3]) {\n";
  const Region region = RegionOf(
      head +
          "a = conv2d(x, w) {pads = [1,1,1,1]}\n y = conv2d(a, w) {pads = [1,1,1,1]}\n return y }",
      head + R"(
      p = pad(x) {pads = [0,0,0,0,0,0,0,1]}
      a = transpose(p) {perm = [1,2,0,3]}
      b = reshape(a) {shape = [1,1,3,14]}
      c = conv2d(b, w) {pads = [1,1,1,1]}
      d = conv2d(c, w) {pads = [1,1,1,1]}
      e = reshape(d) {shape = [1,3,2,7]}
      f = transpose(e) {perm = [2,0,1,3]}
      y = slice(f) {starts = [0,0,0,0], sizes = [2,1,3,6]}
      return y })");
  EXPECT_EQ(Boxes(region), "[0, 0, 0:3, 5][1, 0, 0:3, 0:6:5]");
}

TEST(RegionTest, WeightGradientsByParts) {
  // dw[k,c,r,s] = sum(n,p,q) x[n,c,p+r,q+s] dy[n,k,p,q]: the mutant leaves out half of the batch.
  const std::string head = "graph g(x: f32[2,2,5,5], d: f32[2,3,3,4]) {\n";
  const std::string original = head + R"(
      a = transpose(x) {perm = [1,0,2,3]}
      b = transpose(d) {perm = [1,0,2,3]}
      y = conv2d(a, b)
      return y })";
  EXPECT_EQ(RegionOf(original, head + R"(
      a = transpose(x) {perm = [1,0,2,3]}
      b = transpose(d) {perm = [1,0,2,3]}
      l = slice(a) {starts = [0,0,0,0], sizes = [2,1,5,5]}
      m = slice(b) {starts = [0,0,0,0], sizes = [3,1,3,4]}
      y = conv2d(l, m)
      return y })")
                .positions,
            2 * 3 * 3 * 2);
  EXPECT_TRUE(RegionOf(original, head + R"(
      a = transpose(x) {perm = [1,0,2,3]}
      b = transpose(d) {perm = [1,0,2,3]}
      l = slice(a) {starts = [0,0,0,0], sizes = [2,1,5,5]}
      m = slice(b) {starts = [0,0,0,0], sizes = [3,1,3,4]}
      r = slice(a) {starts = [0,1,0,0], sizes = [2,1,5,5]}
      s = slice(b) {starts = [0,1,0,0], sizes = [3,1,3,4]}
      p = conv2d(l, m)
      q = conv2d(r, s)
      y = add(p, q)
      return y })")
                  .empty());
}

TEST(RegionTest, NineTimesTheCenterIsNotTheSumOfTheWindow) {
  // Equal on arithmetic progressions, but different as polynomials everywhere.
  const std::string head = "graph g(x: f32[1,1,5,5]) {\n w = constant f32[1,1,3,3] fill 1.0\n";
  const Region region = RegionOf(head + "y = conv2d(x, w)\n return y }", head + R"(
      c = slice(x) {starts = [0,0,1,1], sizes = [1,1,3,3]}
      y = scalar_mul(c) {alpha = 9.0}
      return y })");
  EXPECT_EQ(region.positions, 9);
}

TEST(RegionTest, RefusesWhatIsNoPolynomial) {
  const Graph g =
      Parse("graph g(x: f32[1,1,4,4]) { y = max_pool2d(x) {kernel = [2,2]}\n return y }");
  EXPECT_THAT(std::string(FindRegion(g, g).status().message()),
              testing::HasSubstr("the operator max_pool2d is no sum of products"));
  const Graph h = Parse("graph g(x: f32[1,1,3,4]) { y = relu(x)\n return y }");
  EXPECT_THAT(std::string(FindRegion(g, h).status().message()),
              testing::HasSubstr("the outputs are"));
}

}  // namespace
}  // namespace lemma::pet
