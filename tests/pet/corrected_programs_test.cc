// Corrected programs equal their originals; faults put into them are found.
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/builder.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "pet/correctors/corrector.h"
#include "pet/mutants/mutant.h"
#include "pet/regions/region.h"
#include "tests/pet/polynomial_oracle.h"
#include "tests/pet/random_subprogram.h"

namespace lemma::pet {
namespace {

constexpr int kPrograms = 1000;

// A mutant of the graph, the same for the same seed. Every fourth is of another operator or leaves
// out a part of a sum, if there is such a mutant.
std::optional<Mutant> AnyMutant(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  MutantOptions options;
  options.seed = seed;
  options.max_tried = 20000;
  options.max_operators_tried = 20000;
  std::optional<Mutant> chosen;
  int64_t left = 1 + static_cast<int64_t>(random() % 12);
  auto status = ForEachMutant(graph, options, [&](Mutant mutant) {
    if (seed % 4 == 0 && mutant.recipe && left > 0) {
      if (!chosen) chosen = std::move(mutant);
      return true;
    }
    chosen = std::move(mutant);
    return --left > 0;
  });
  EXPECT_TRUE(status.ok()) << status;
  return chosen;
}

absl::StatusOr<Value> Corrected(const Graph& graph, const Mutant& mutant, const Region& region) {
  const Value& value = mutant.graph.outputs()[0];
  if (mutant.rest) return Apply1("add", {value, mutant.rest});
  return Overwritten(graph.outputs()[0], value, region.differs);
}

TEST(CorrectedProgramsTest, EqualAtAllPositions) {
  int corrected = 0, without = 0, with_region = 0, added = 0, other_operators = 0;
  for (uint64_t seed = 1; corrected < kPrograms; ++seed) {
    ASSERT_LT(seed, 5u * kPrograms);
    const Graph graph = RandomSubprogram(seed);
    const auto mutant = AnyMutant(graph, seed);
    if (!mutant) {
      ++without;
      continue;
    }
    auto region = FindRegion(graph, mutant->graph);
    ASSERT_TRUE(region.ok()) << seed << ": " << region.status();
    EXPECT_EQ(region->tested, NumElements(region->shape));
    auto value = Corrected(graph, *mutant, *region);
    ASSERT_TRUE(value.ok()) << seed << ": " << value.status();
    // FindRegion also runs both graphs in the field, at all positions.
    const Graph program = graph.WithOutputs({*value});
    auto rest = FindRegion(graph, program);
    ASSERT_TRUE(rest.ok()) << seed << ": " << rest.status();
    EXPECT_TRUE(rest->empty()) << "seed " << seed << "\n"
                               << PrintGraph(graph) << PrintGraph(program);
    EXPECT_EQ(rest->tested, NumElements(region->shape));
    ++corrected;
    with_region += !region->empty();
    added += static_cast<bool>(mutant->rest);
    other_operators += !mutant->recipe && !mutant->rest;
    if (corrected % 20 != 0) continue;  // the oracle takes long
    EXPECT_EQ(static_cast<int64_t>(DifferingPositions(graph, mutant->graph).size()),
              region->positions)
        << "seed " << seed;
    EXPECT_THAT(DifferingPositions(graph, program), testing::IsEmpty()) << "seed " << seed;
  }
  EXPECT_GE(with_region, kPrograms / 10);
  EXPECT_GE(added, kPrograms / 50);
  EXPECT_GE(other_operators, kPrograms / 20);
  RecordProperty("without_mutants", without);
}

// If a region is too small by one position in any direction, positions stay uncorrected.
TEST(CorrectedProgramsTest, RegionsOffByOneAreFound) {
  int faults = 0;
  for (uint64_t seed = 1; faults < 100; ++seed) {
    ASSERT_LT(seed, 2000u);
    const Graph graph = RandomSubprogram(seed);
    const auto mutant = AnyMutant(graph, seed);
    if (!mutant) continue;
    auto region = FindRegion(graph, mutant->graph);
    ASSERT_TRUE(region.ok()) << region.status();
    if (region->empty() || mutant->rest) continue;
    for (size_t b = 0; b < region->differs.size(); ++b) {
      for (size_t d = 0; d < region->shape.size(); ++d) {
        std::vector<Box> boxes = region->differs;
        Range& range = boxes[b][d];
        if (range.count == 1) continue;
        range = seed % 2 == 0 ? range.Part(1, range.count - 1) : range.Part(0, range.count - 1);
        auto value = Overwritten(graph.outputs()[0], mutant->graph.outputs()[0], boxes);
        ASSERT_TRUE(value.ok()) << value.status();
        auto rest = FindRegion(graph, graph.WithOutputs({*value}));
        ASSERT_TRUE(rest.ok()) << rest.status();
        EXPECT_FALSE(rest->empty()) << "seed " << seed;
        ++faults;
      }
    }
  }
}

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

int64_t Differs(const std::string& original, const std::string& mutant) {
  auto region = FindRegion(Parse(original), Parse(mutant));
  EXPECT_TRUE(region.ok()) << region.status();
  return region.ok() ? region->positions : -1;
}

// Pairs of batch elements side by side in the width, with `gap` columns between them, for a kernel
// of 5 columns.
std::string Folded(int gap) {
  const std::string wide = std::to_string(6 + gap), row = std::to_string(2 * (6 + gap));
  return "graph g(x: f32[2,1,3,6], w: weight f32[1,1,3,5]) {\n p = pad(x) {pads = [0,0,0,0,0,0,0," +
         std::to_string(gap) +
         "]}\n a = transpose(p) {perm = [1,2,0,3]}\n b = reshape(a) {shape = "
         "[1,1,3," +
         row +
         "]}\n c = conv2d(b, w) {pads = [1,2,1,2]}\n d = reshape(c) {shape = "
         "[1,3,2," +
         wide +
         "]}\n e = transpose(d) {perm = [2,0,1,3]}\n"
         "y = slice(e) {starts = [0,0,0,0], sizes = [2,1,3,6]}\n return y }";
}

TEST(CorrectedProgramsTest, GapsOneShortAreFound) {
  const std::string original =
      "graph g(x: f32[2,1,3,6], w: weight f32[1,1,3,5]) {\n"
      "y = conv2d(x, w) {pads = [1,2,1,2]}\n return y }";
  EXPECT_EQ(Differs(original, Folded(2)), 0);
  EXPECT_EQ(Differs(original, Folded(1)), 2 * 3);
  EXPECT_EQ(Differs(original, Folded(0)), 2 * 3 * 2);
}

// Rows of even and of odd height are convolved separately and put together in `order`.
std::string ByParity(const std::string& order) {
  return "graph g(x: f32[1,1,8,4], w: weight f32[1,1,3,3]) {\n"
         "a = reshape(x) {shape = [1,1,4,2,4]}\n b = transpose(a) {perm = [3,0,1,2,4]}\n"
         "c = reshape(b) {shape = [2,1,4,4]}\n d = conv2d(c, w) {pads = [1,1,1,1]}\n"
         "l = slice(d) {starts = [0,0,0,0], sizes = [1,1,4,4]}\n"
         "r = slice(d) {starts = [1,0,0,0], sizes = [1,1,4,4]}\n"
         "l2 = reshape(l) {shape = [1,1,4,1,4]}\n r2 = reshape(r) {shape = [1,1,4,1,4]}\n"
         "e = concat(" +
         order + ") {axis = 3}\n y = reshape(e) {shape = [1,1,8,4]}\n return y }";
}

TEST(CorrectedProgramsTest, WrongParityIsFound) {
  const std::string original =
      "graph g(x: f32[1,1,8,4], w: weight f32[1,1,3,3]) {\n"
      "y = conv2d(x, w) {pads = [2,1,2,1], dilations = [2,1]}\n return y }";
  EXPECT_EQ(Differs(original, ByParity("l2, r2")), 0);
  EXPECT_EQ(Differs(original, ByParity("r2, l2")), 32);
}

}  // namespace
}  // namespace lemma::pet
