#include "pet/correctors/candidates.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "pet/correctors/corrector.h"
#include "tests/pet/polynomial_oracle.h"

namespace lemma::pet {
namespace {

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// A layout operator costs the elements that it moves, any other one only 1, so that mutants of one
// operator differ in cost by their layouts alone.
absl::StatusOr<int64_t> Copies(const Graph& graph) {
  int64_t cost = 0;
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_op()) cost += node->inputs().size() == 1 ? node->type(0).num_elements() : 1;
  }
  return cost;
}

std::vector<Mutant> MutantsOf(const Graph& graph) {
  std::vector<Mutant> mutants;
  auto status = ForEachMutant(graph, {}, [&](Mutant mutant) {
    mutants.push_back(std::move(mutant));
    return true;
  });
  EXPECT_TRUE(status.ok()) << status;
  return mutants;
}

// The least number of positions at which a mutant with this description differs; -1: there is no
// such mutant.
int64_t Differs(const Graph& graph, const std::string& how) {
  int64_t least = -1;
  for (const Mutant& mutant : MutantsOf(graph)) {
    if (mutant.how() != how) continue;
    auto region = FindRegion(graph, mutant.graph);
    EXPECT_TRUE(region.ok()) << region.status();
    if (region.ok() && (least < 0 || region->positions < least)) least = region->positions;
  }
  return least;
}

std::string Conv(const std::string& x, const std::string& w, const std::string& attrs) {
  return "graph g(x: f32" + x + ", w: weight f32" + w + " = fill 1.0) {\n y = conv2d(x, w) {" +
         attrs + "}\n return y }";
}

TEST(MutantTest, FamiliesAreEnumerated) {
  const Graph plain = Parse(Conv("[4,1,3,5]", "[1,1,3,3]", "pads = [1,1,1,1]"));
  EXPECT_EQ(Differs(plain, "last digit 2 of dim 0 to dim 3 (first)"), 12);
  EXPECT_EQ(Differs(plain, "pad dim 3 by 0+1, last digit 2 of dim 0 to dim 3 (first)"), 0);
  const Graph tall = Parse(Conv("[1,1,8,4]", "[1,1,3,3]", "pads = [1,1,1,1]"));
  EXPECT_EQ(Differs(tall, "first digit 2 of dim 2 to dim 0 (first)"), 8);
  EXPECT_EQ(Differs(tall,
                    "pad dim 2 by 1+1, 2 blocks of dim 2, overlapping by 2, to dim 0; "
                    "padding made explicit"),
            0);
  for (const char* size : {"14", "7"}) {
    const std::string shape = std::string("[1,1,") + size + "," + size + "]";
    const Graph dilated = Parse(Conv(shape, "[1,1,3,3]", "pads = [2,2,2,2], dilations = [2,2]"));
    const std::string pads = size == std::string("7") ? "pad dim 2 by 0+1, pad dim 3 by 0+1, " : "";
    EXPECT_EQ(Differs(dilated, pads + "last digit 2 of dim 2 to dim 0 (first), last digit 2 of dim "
                                      "3 to dim 0 (first); attributes divided"),
              0);
  }
}

TEST(MutantTest, StrideTwoBecomesStrideOne) {
  const Graph strided = Parse(Conv("[1,2,9,9]", "[2,2,3,3]", "pads = [1,1,1,1], strides = [2,2]"));
  bool found = false;
  for (const Mutant& mutant : MutantsOf(strided)) {
    if (mutant.how().find("weights too") == std::string::npos) continue;
    auto region = FindRegion(strided, mutant.graph);
    ASSERT_TRUE(region.ok()) << region.status();
    found = found || region->empty();
  }
  EXPECT_TRUE(found);
}

TEST(MutantTest, SameInEveryRun) {
  const Graph graph = Parse(Conv("[4,1,3,5]", "[1,1,3,3]", "pads = [1,1,1,1]"));
  std::vector<uint64_t> first;
  for (const Mutant& m : MutantsOf(graph)) first.push_back(m.graph.StructuralHash());
  for (int run = 0; run < 20; ++run) {
    std::vector<uint64_t> again;
    for (const Mutant& m : MutantsOf(graph)) again.push_back(m.graph.StructuralHash());
    ASSERT_EQ(again, first);
  }
}

TEST(CorrectorTest, OverwritesBoxes) {
  const Graph graph = Parse(Conv("[4,1,3,5]", "[1,1,3,3]", "pads = [1,1,1,1]"));
  int corrected = 0;
  for (const Mutant& mutant : MutantsOf(graph)) {
    auto region = FindRegion(graph, mutant.graph);
    ASSERT_TRUE(region.ok()) << region.status();
    if (region->empty() || region->positions > 30) continue;
    auto value = Overwritten(graph.outputs()[0], mutant.graph.outputs()[0], region->differs);
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_THAT(DifferingPositions(graph, graph.WithOutputs({*value})), testing::IsEmpty())
        << mutant.how();
    ++corrected;
  }
  EXPECT_GE(corrected, 3);
}

TEST(CandidatesTest, AreEqualEverywhere) {
  CandidateOptions options;
  options.cost = options.estimate = Copies;
  const Graph graph = Parse(Conv("[2,2,7,6]", "[3,2,3,3]", "pads = [1,1,1,1]"));
  auto candidates = FindCandidates(graph, options);
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  EXPECT_EQ(candidates->found.size(), 8u);
  for (const Candidate& c : candidates->found) {
    EXPECT_THAT(DifferingPositions(graph, c.corrected), testing::IsEmpty()) << c.mutant.how();
    EXPECT_EQ(static_cast<int64_t>(DifferingPositions(graph, c.mutant.graph).size()),
              c.region.positions);
  }
}

}  // namespace
}  // namespace lemma::pet
