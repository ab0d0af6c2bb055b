#include "optimizer/folding/constant_folding.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace lemma::optimizer {
namespace {

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

TEST(ConstantFoldingTest, ReplacesWhatWeightsDetermine) {
  Graph g = Parse(
      "graph g(x: f32[2], w: weight f32[2] = [1.0, 2.0]) {\n"
      "  v = add(w, w)\n y = mul(x, v)\n return y }");
  auto folded = FoldConstants(g);
  ASSERT_TRUE(folded.ok()) << folded.status();
  EXPECT_EQ(folded->num_ops(), 1);
  const Value& v = folded->outputs()[0].node().inputs()[1];
  ASSERT_TRUE(v.node().has_payload());
  EXPECT_EQ(v.node().payload().ToDoubles(), (std::vector<double>{2, 4}));
}

TEST(ConstantFoldingTest, RoundsOnce) {
  // In f32, 1e-8 + 1 - 1 is 0; folded, it is 1e-8.
  Graph g = Parse(
      "graph g(x: f32[], a: weight f32[] = fill 1e-8, b: weight f32[] = fill 1.0) {\n"
      "  s = add(a, b)\n t = sub(s, b)\n y = mul(x, t)\n return y }");
  auto folded = FoldConstants(g);
  ASSERT_TRUE(folded.ok()) << folded.status();
  const Tensor& t = folded->outputs()[0].node().inputs()[1].node().payload();
  EXPECT_NEAR(t.AtDouble(0), 1e-8, 1e-14);
}

// (x a) b becomes x (a b): the product may lie where its type has few digits, or none.
TEST(ConstantFoldingTest, SaysWhetherANewConstantLeavesItsType) {
  struct Case {
    const char *type, *a, *b;
    bool leaves;
  };
  for (const Case& c : {Case{"f16", "0.001", "0.001", true}, Case{"f16", "2000.0", "50.0", true},
                        Case{"f16", "0.1", "0.1", false}, Case{"f32", "1e-25", "1e-25", true},
                        Case{"f32", "1e25", "1e25", true}, Case{"f32", "0.001", "0.001", false},
                        Case{"bf16", "0.001", "0.001", false}, Case{"f32", "0.0", "3.0", false}}) {
    SCOPED_TRACE(absl::StrCat(c.type, " ", c.a, " ", c.b));
    const std::string constants =
        absl::StrCat("(x: ", c.type, "[4]) { a = constant ", c.type, "[] fill ", c.a,
                     " b = constant ", c.type, "[] fill ", c.b);
    const Graph before =
        Parse(absl::StrCat("graph g", constants, " y = mul(x, a) z = mul(y, b) return z }"));
    const Graph after =
        Parse(absl::StrCat("graph g", constants, " y = mul(a, b) z = mul(x, y) return z }"));
    bool leaves = false;
    ASSERT_TRUE(FoldConstants(after, 1, {}, before, &leaves).ok());
    EXPECT_EQ(leaves, c.leaves);
    // What the graph computed before is its own affair.
    leaves = false;
    ASSERT_TRUE(FoldConstants(after, 1, {}, after, &leaves).ok());
    EXPECT_FALSE(leaves);
  }
}

TEST(ConstantFoldingTest, MovedValuesAreNotRoundedEither) {
  Graph g = Parse(
      "graph g(x: f32[1, 2], a: weight f32[2, 1] = fill 1e-8, b: weight f32[1, 2] = fill 1.0) {\n"
      "  c = transpose(b) {perm = [1,0]}\n s = add(a, c)\n m = transpose(s) {perm = [1,0]}\n"
      "  t = sub(m, b)\n y = mul(x, t)\n return y }");
  auto folded = FoldConstants(g);
  ASSERT_TRUE(folded.ok()) << folded.status();
  const Tensor& t = folded->outputs()[0].node().inputs()[1].node().payload();
  EXPECT_NEAR(t.AtDouble(0), 1e-8, 1e-14);
}

TEST(ConstantFoldingTest, LeavesUnknownWeightsAndInputs) {
  Graph g =
      Parse("graph g(x: f32[2], w: weight f32[2]) { v = add(w, w)\n y = mul(x, v)\n return y }");
  EXPECT_TRUE(FoldableNodes(g).empty());
  EXPECT_EQ(FoldConstants(g)->StructuralHash(), g.StructuralHash());
}

TEST(ConstantFoldingTest, LeavesKeptValuesAndComputesWithThem) {
  Graph g = Parse(
      "graph g(x: f32[2], w: weight f32[2] = [1.0, 2.0]) {\n"
      "  v = add(w, w)\n y = mul(x, v)\n u = neg(v)\n z = mul(y, u)\n return z }");
  const Value z = g.outputs()[0];
  const Value v = z.node().inputs()[0].node().inputs()[1];
  auto folded = FoldConstants(g, 1, {&v.node()});
  ASSERT_TRUE(folded.ok()) << folded.status();
  EXPECT_EQ(folded->num_ops(), 3);  // u is a constant, v is not
}

TEST(ConstantFoldingTest, FoldsOutputsToo) {
  Graph g = Parse(
      "graph g(x: f32[2], w: weight f32[2] = [1.0, 4.0]) {\n"
      "  v = sqrt(w)\n return v }");
  auto folded = FoldConstants(g);
  ASSERT_TRUE(folded.ok()) << folded.status();
  EXPECT_EQ(folded->num_ops(), 0);
  EXPECT_EQ(folded->inputs().size(), 1u);
}

TEST(ConstantFoldingTest, KeepsLargeExpansionsAsComputation) {
  Graph g = Parse(
      "graph g(x: f32[1024,1024], w: weight f32[1] = [1.0]) {\n"
      "  v = expand(w) {shape = [1024, 1024]}\n y = mul(x, v)\n return y }");
  EXPECT_TRUE(FoldableNodes(g).empty());
}

TEST(ConstantFoldingTest, KeepsWeightsThatAreStoredAsIntegers) {
  // What is computed from the zero point and the scale alone folds.
  Graph g = Parse(
      "graph g(x: f32[3,9], q: weight i8[9,8] = fill 3, z: weight i8[8] = fill 1,\n"
      "        s: weight f32[] = fill 0.5) {\n"
      "  a = cast(q) {dtype = \"f32\"}\n b = cast(z) {dtype = \"f32\"}\n c = sub(a, b)\n"
      "  w = mul(c, s)\n y = matmul(x, w)\n return y }");
  const auto foldable = FoldableNodes(g);
  ASSERT_EQ(foldable.size(), 1u);
  EXPECT_EQ((*foldable.begin())->inputs()[0].shape().size(), 1u);
  EXPECT_EQ(AssumeFolded(g).num_ops(), 4);
  EXPECT_EQ(FoldConstants(g)->num_ops(), 4);
}

TEST(AssumeFoldedTest, HasTheShapeOfTheFoldedGraph) {
  Graph g = Parse(
      "graph g(x: f32[2], w: weight f32[2] = [1.0, 2.0]) {\n"
      "  v = add(w, w)\n u = exp(v)\n y = mul(x, u)\n z = add(y, v)\n return z }");
  Graph assumed = AssumeFolded(g);
  EXPECT_EQ(assumed.num_ops(), 2);
  EXPECT_EQ(assumed.nodes().size(), FoldConstants(g)->nodes().size());
}

}  // namespace
}  // namespace lemma::optimizer
