// Mutants of another operator, and mutants that leave out a part of a sum: each family is
// enumerated, and the oracle confirms every region.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "pet/correctors/candidates.h"
#include "pet/mutants/contraction.h"
#include "pet/mutants/layout_move.h"
#include "pet/mutants/regroup.h"
#include "tests/pet/polynomial_oracle.h"

namespace lemma::pet {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::IsEmpty;
using testing::Not;

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

struct Found {
  Mutant mutant;
  Region region;
};

// All mutants whose description begins with `begin`. The oracle must confirm where each differs.
std::vector<Found> MutantsOf(const Graph& graph, const std::string& begin) {
  std::vector<Found> found;
  auto status = ForEachMutant(graph, {}, [&](Mutant mutant) {
    if (mutant.how().compare(0, begin.size(), begin) != 0) return true;
    auto region = FindRegion(graph, mutant.graph);
    EXPECT_TRUE(region.ok()) << region.status();
    std::vector<int64_t> positions;
    ForEachPosition(WholeBox(region->shape), [&, flat = int64_t{0}](const auto& index) mutable {
      if (region->Contains(index)) positions.push_back(flat);
      ++flat;
    });
    EXPECT_EQ(positions, DifferingPositions(graph, mutant.graph)) << mutant.how();
    found.push_back({std::move(mutant), *std::move(region)});
    return true;
  });
  EXPECT_TRUE(status.ok()) << status;
  return found;
}

// The descriptions of those mutants that differ nowhere.
std::vector<std::string> EqualMutants(const Graph& graph, const std::string& begin) {
  std::vector<std::string> equal;
  for (const Found& f : MutantsOf(graph, begin)) {
    if (f.region.empty()) equal.push_back(f.mutant.how());
  }
  return equal;
}

TEST(ContractionsTest, AreReadOffTheDefinitions) {
  std::vector<std::string> names;
  for (const Contraction& c : Contractions()) names.push_back(c.op->name);
  EXPECT_THAT(names, testing::IsSupersetOf({"matmul", "conv2d", "conv_transpose2d"}));
  EXPECT_THAT(names, Not(Contains(AnyOf("mul", "add", "max_pool2d", "reduce_sum"))));
}

TEST(OperatorMutantTest, MeansOverWindowsAreConvolutions) {
  const Graph counted = Parse(R"(graph g(x: f32[2,3,5,6]) {
    y = avg_pool2d(x) {kernel = [3,3], pads = [1,1,1,1], count_include_pad = 1}
    return y })");
  EXPECT_THAT(EqualMutants(counted, "conv2d"),
              Contains("conv2d {groups = 3, pads = [1, 1, 1, 1]} of input 0 as [2,3,5,6] and ones "
                       "[3,1,3,3] as [3,1,3,3], divided by 9"));
  // If padding is not counted, the border differs.
  const Graph inside = Parse(R"(graph g(x: f32[1,2,13,13]) {
    y = avg_pool2d(x) {kernel = [3,3], pads = [1,1,1,1]}
    return y })");
  std::vector<int64_t> positions;
  for (const Found& f : MutantsOf(inside, "conv2d {groups = 2")) {
    positions.push_back(f.region.positions);
  }
  EXPECT_THAT(positions, Contains(2 * (13 * 13 - 11 * 11)));
}

TEST(OperatorMutantTest, PointwiseConvolutionsAreProducts) {
  const Graph graph = Parse(R"(graph g(x: f32[2,3,2,5], w: weight f32[4,3,1,1], b: weight f32[4]) {
    y = conv2d(x, w, b)
    return y })");
  EXPECT_THAT(EqualMutants(graph, "matmul"),
              Contains("matmul of w as [4,3] and input 0 as [2,3,10], and b"));
}

TEST(OperatorMutantTest, BatchedProductsAreOneProduct) {
  const Graph shared = Parse(R"(graph g(x: f32[2,3,5], w: weight f32[5,4]) {
    y = matmul(x, w)
    return y })");
  EXPECT_THAT(EqualMutants(shared, "matmul"),
              Contains("matmul of input 0 as [6,5] and w as [5,4]"));
  const Graph each = Parse(R"(graph g(x: f32[2,3,5], w: weight f32[2,5,4]) {
    y = matmul(x, w)
    return y })");
  EXPECT_THAT(EqualMutants(each, "matmul"),
              Contains("matmul of input 0 as [3,10] and w in 2 blocks of dim 0 along a diagonal of "
                       "dim 1 as [10,8]"));
}

TEST(OperatorMutantTest, GroupedConvolutionsAreDense) {
  const Graph graph = Parse(R"(graph g(x: f32[1,6,4,3], w: weight f32[6,2,3,2]) {
    y = conv2d(x, w) {pads = [1,0,2,1], groups = 3}
    return y })");
  EXPECT_THAT(EqualMutants(graph, "conv2d"),
              Contains("conv2d {pads = [1, 0, 2, 1]} of input 0 as [1,6,4,3] and w in 3 blocks of "
                       "dim 0 along a diagonal of dim 1 as [6,6,3,2]"));
}

TEST(OperatorMutantTest, DataGradientsAreConvolutions) {
  for (const char* pads : {"[1,1,1,1]", "[0,1,2,0]"}) {
    const Graph graph = Parse(absl::StrCat(
        "graph g(d: f32[2,3,5,4], w: weight f32[3,2,3,3]) {\n y = conv_transpose2d(d, w) {pads = ",
        pads, "}\n return y }"));
    EXPECT_THAT(EqualMutants(graph, "conv2d"),
                Contains(testing::HasSubstr("w reversed in dim 2 and 3 as [2,3,3,3]")));
  }
}

std::string Siblings(const std::string& join) {
  return R"(graph g(x: f32[1,2,4,3], z: f32[1,2,4,3], v: weight f32[3,2,3,3],
                    w: weight f32[3,2,3,3], p: weight f32[3], q: weight f32[3]) {
    a = conv2d(x, v, p) {pads = [1,1,1,1]}
    b = conv2d(z, w, q) {pads = [1,1,1,1]}
    y = )" +
         join + "\n return y }";
}

TEST(OperatorMutantTest, SiblingsAreOneConvolution) {
  EXPECT_THAT(
      EqualMutants(Parse(Siblings("concat(a, b) {axis = 1}")), "conv2d"),
      Contains("conv2d {groups = 2, pads = [1, 1, 1, 1]} of input 0, input 1 along dim 1 as "
               "[1,4,4,3] and v, w along dim 0 as [6,2,3,3] and p, q along dim 0"));
  EXPECT_THAT(EqualMutants(Parse(Siblings("add(a, b)")), "conv2d"),
              Contains("conv2d {pads = [1, 1, 1, 1]} of input 0, input 1 along dim 1 as [1,4,4,3] "
                       "and v, w along dim 1 as [3,4,3,3] and p, q added"));
}

TEST(OperatorMutantTest, SiblingsDataDoesNotMeetOthersWeights) {
  // Zeros between blocks would carry a NaN of one input to elements that do not read it.
  for (const char* join : {"concat(a, b) {axis = 1}", "add(a, b)"}) {
    for (const Found& f : MutantsOf(Parse(Siblings(join)), "")) {
      EXPECT_THAT(f.mutant.how(), Not(testing::HasSubstr("diagonal")));
    }
  }
}

TEST(SplitMutantTest, WeightGradientsByPartsOfTheBatch) {
  // dw[c,k,r,s] = sum(n,p,q) x[c,n,p+r,q+s] dy[k,n,p,q]
  const Graph graph = Parse(R"(graph g(x: f32[2,5,4,4], d: f32[3,5,3,2]) {
    y = conv2d(x, d)
    return y })");
  const std::vector<Found> found = MutantsOf(graph, "4 of 5 of dim 1 of leaf 0, dim 1 of leaf 1");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].region.positions, 2 * 3 * 2 * 3);
  CandidateOptions options;
  options.look_at = 100;
  options.keep = 100;
  options.cost =
      options.estimate = [](const Graph& g) -> absl::StatusOr<int64_t> { return g.num_ops(); };
  auto candidates = FindCandidates(graph, options);
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  int added = 0;
  for (const Candidate& c : candidates->found) {
    EXPECT_THAT(DifferingPositions(graph, c.corrected), IsEmpty()) << c.mutant.how();
    added += c.corrector == "add what was left out";
  }
  EXPECT_GE(added, 2);
}

TEST(SplitMutantTest, ABiasIsNotAddedTwice) {
  const Graph graph = Parse(R"(graph g(x: f32[1,4,3,3], w: weight f32[2,4,1,1], b: weight f32[2]) {
    y = conv2d(x, w, b)
    return y })");
  EXPECT_THAT(MutantsOf(graph, "2 of 4"), IsEmpty());
}

TEST(DiagonalMoveTest, ZerosBetweenBlocks) {
  const Graph graph = Parse(
      "graph g(w: f32[4,2]) { y = slice(w) {starts = [0,0], sizes = [4,2]}\n"
      "return y }");
  const Value& w = graph.inputs()[0];
  auto moved = ApplyMove(w, DiagonalMove{0, 1, 2});
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(lemma::ToString(moved->shape()), "[4,4]");
  for (int block : {0, 1}) {
    auto diagonal = SliceOf(*moved, {2 * block, 2 * block}, {2, 2});
    auto own = SliceOf(w, {2 * block, 0}, {2, 2});
    EXPECT_TRUE(AgreeEverywhere(*diagonal, *own).value_or(false));
    auto off = SliceOf(*moved, {2 * block, 2 - 2 * block}, {2, 2});
    const Graph nothing = Parse("graph g() { z = constant f32[2,2] fill 0.0\n return z }");
    EXPECT_TRUE(AgreeEverywhere(*off, nothing.outputs()[0]).value_or(false));
  }
  EXPECT_FALSE(ApplyMove(w, DiagonalMove{0, 1, 3}).ok());
  EXPECT_FALSE(ApplyMove(w, DiagonalMove{1, 1, 2}).ok());
}

TEST(RegroupTest, EveryWayThereHasAWayBack) {
  const Graph graph = Parse(
      "graph g(x: f32[2,3,1,5]) {\n"
      "y = slice(x) {starts = [0,0,0,0], sizes = [2,3,1,5]}\n return y }");
  const Value& x = graph.inputs()[0];
  const std::vector<Regroup> all = RegroupsOf(x.shape(), true);
  EXPECT_GT(all.size(), 50u);
  for (const Regroup& regroup : all) {
    auto there = Applied(regroup, x);
    ASSERT_TRUE(there.ok()) << there.status();
    EXPECT_EQ(there->shape(), regroup.shape);
    std::vector<bool> back;
    for (const Regroup& way : RegroupsTo(regroup.shape, x.shape())) {
      back.push_back(AgreeEverywhere(*Applied(way, *there), x).value_or(false));
    }
    EXPECT_THAT(back, Contains(true)) << lemma::ToString(regroup.shape);
  }
}

}  // namespace
}  // namespace lemma::pet
