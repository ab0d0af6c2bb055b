// lemma op: the operators, and what one computes.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(OpTest, PrintsTheSectionOfAnOperator) {
  const LemmaResult result = RunLemma({"op", "conv2d"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("### conv2d(x, w, bias?)\n\n```\ny[n,k,p,q] = sum("));
  EXPECT_THAT(result.out, HasSubstr("| `strides` | ints, *symbol* | `[1, 1]` |"));
  EXPECT_THAT(result.out, HasSubstr("\nImported from ONNX's Conv"));
}

TEST(OpTest, ListsAllOperators) {
  const LemmaResult result = RunLemma({"op"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("einsum\\(x…\\) +linear algebra\n"));
  EXPECT_THAT(result.out, ContainsRegex("conv2d\\(x, w, bias\\?\\) +convolution\n"));
}

TEST(DoctorTest, TriesEveryPart) {
  const LemmaResult result = RunLemma({"doctor"});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, ContainsRegex("back end cpu +works +.*oneDNN"));
  EXPECT_THAT(result.out, ContainsRegex("back end reference +works"));
  EXPECT_THAT(result.out, ContainsRegex("back end cuda +(works|missing)"));
  EXPECT_THAT(result.out, ContainsRegex("costs +works +.*measured kernels"));
  EXPECT_THAT(RunLemma({"doctor", "--json"}).out,
              HasSubstr(R"({"what":"back end cpu","state":"works",)"));
}

TEST(DoctorTest, ADamagedDatabaseIsBroken) {
  const LemmaResult result =
      RunLemma({"doctor", "--cost-db", WriteTemp("costs", "no database at all")});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, ContainsRegex("costs +broken +"));
  ExpectOneLine(RunLemma({"doctor", "x"}), {"doctor takes flags only"});
}

TEST(OpTest, SaysWhatIsWrong) {
  ExpectOneLine(RunLemma({"op", "conv2"}), {"no operator conv2; did you mean conv2d?"});
  ExpectOneLine(RunLemma({"op", "a", "b"}), {"one NAME, please: 'b' is one too many"});
  EXPECT_THAT(RunLemma({"op", "--help"}).out, StartsWith("Usage: lemma op [NAME]\n"));
}

}  // namespace
}  // namespace lemma
