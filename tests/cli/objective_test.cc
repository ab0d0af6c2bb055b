// lemma optimize --objective and --memory-limit, of a graph where time and memory disagree.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// One multiplication in place of two is faster, but its results are live together for longer.
constexpr char kGraph[] = R"(graph g(x: f32[512,512]) {
  a = constant f32[512,64] fill 0.5
  b = constant f32[512,64] fill 0.25
  v = relu(x)
  p = matmul(v, a)
  q = matmul(v, b)
  r = sqrt(p)
  s = sqrt(q)
  t = sqrt(v)
  return r, s, t
})";

// Optimizes for a device that is not present, so that no timing decides.
class ObjectiveTest : public testing::Test {
 protected:
  ObjectiveTest() {
    const std::string costs = WriteTemp("c.txt", "lemma costs 2\ndevice d\n0.001 0 1 0 0 0 none\n");
    EXPECT_EQ(RunLemma({"costs", "import", costs, "--cost-db", db_}).exit_status, 0);
  }
  LemmaResult Optimize(const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {"optimize",  WriteTemp("g.lemma", kGraph),
                                          "-o",        folder_ + "/o.lemma",
                                          "--cost-db", db_,
                                          "--device",  "d"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunLemma(arguments);
  }
  // Whether the written graph has the merged product.
  bool IsMerged() { return ReadAll(folder_ + "/o.lemma").find("split") != std::string::npos; }

  const std::string folder_ = NewFolder();
  const std::string db_ = folder_ + "/d.sqlite";
};

TEST_F(ObjectiveTest, TimeAndMemoryChooseDifferently) {
  ASSERT_EQ(Optimize({}).exit_status, 0);
  EXPECT_TRUE(IsMerged());
  const LemmaResult memory = Optimize({"--objective=memory"});
  ASSERT_EQ(memory.exit_status, 0) << memory.err;
  EXPECT_FALSE(IsMerged());
  EXPECT_THAT(memory.out, HasSubstr("peak memory, predicted"));
  EXPECT_THAT(memory.out, HasSubstr("kept the input: no rule makes it smaller"));
}

// Eight products that are needed again in reverse order: slow to compute again, quick to copy.
TEST_F(ObjectiveTest, OffloadsToTheHostOfADevice) {
  std::string text = "graph deep(x: f32[256,256]) {\n  a0 = matmul(x, x)\n";
  for (int i = 1; i <= 8; ++i) {
    absl::StrAppend(&text, "  a", i, " = matmul(a", i - 1, ", x)\n");
  }
  absl::StrAppend(&text, "  g8 = sqrt(a8)\n");
  for (int i = 8; i-- > 0;) {
    absl::StrAppend(&text, "  g", i, " = matmul(g", i + 1, ", a", i, ")\n");
  }
  const std::string deep = WriteTemp("deep.lemma", absl::StrCat(text, "  return g0\n}"));
  const std::string out = folder_ + "/deep_less.lemma";
  const LemmaResult kept =
      RunLemma({"optimize", deep, "-o", out, "--memory-limit=1800K", "--budget=1", "--backend=cuda",
                "--device=d", "--cost-db", db_, "--json"});
  ASSERT_EQ(kept.exit_status, 0) << kept.err;
  EXPECT_THAT(kept.out, Not(HasSubstr("\"offloaded_values\":0")));
  EXPECT_THAT(ReadAll(out), HasSubstr("offload("));
  EXPECT_EQ(RunLemma({"check", deep, out, out + ".cert"}).exit_status, 0);
  EXPECT_EQ(RunLemma({"run", out, "--runs=1"}).exit_status, 0);
  EXPECT_THAT(RunLemma({"show", out, "--plan=cuda"}).out, HasSubstr("to the host's memory"));
  // On the CPU an offloaded value would stay in the same memory.
  const LemmaResult here = RunLemma({"optimize", deep, "-o", out, "--memory-limit=1800K",
                                     "--budget=1", "--device=d", "--cost-db", db_, "--json"});
  ASSERT_EQ(here.exit_status, 0) << here.err;
  EXPECT_THAT(here.out, HasSubstr("\"offloaded_values\":0"));
  // Analytic costs know no plan. The limit, in bytes of values, is reached nevertheless.
  const LemmaResult analytic = RunLemma({"optimize", deep, "-o", out, "--memory-limit=1843200",
                                         "--budget=1", "--cost=analytic", "--runs=3", "--json"});
  ASSERT_EQ(analytic.exit_status, 0) << analytic.err;
  EXPECT_THAT(ReadAll(out), HasSubstr("barrier("));
}

TEST_F(ObjectiveTest, ALimitExcludesWhatIsFaster) {
  ASSERT_EQ(Optimize({"--memory-limit=1200K"}).exit_status, 0);
  EXPECT_FALSE(IsMerged());
  ASSERT_EQ(Optimize({"--memory-limit=2M"}).exit_status, 0);
  EXPECT_TRUE(IsMerged());
}

TEST_F(ObjectiveTest, NothingKeepsToTheLimit) {
  for (const char* objective : {"time", "memory", "pareto"}) {
    const LemmaResult result = Optimize({"--memory-limit=1M", "--objective", objective});
    EXPECT_EQ(result.exit_status, 1) << objective;
    EXPECT_THAT(result.err, HasSubstr("nothing that was found keeps to --memory-limit, 1048576"));
    EXPECT_THAT(result.err, HasSubstr("the least needs 1"));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_THAT(FilesIn(folder_), Not(testing::Contains("o.lemma")));
}

TEST_F(ObjectiveTest, TheFrontIsPrinted) {
  const LemmaResult balanced = Optimize({"--objective=pareto", "--json"});
  ASSERT_EQ(balanced.exit_status, 0) << balanced.err;
  EXPECT_FALSE(IsMerged());  // a ninth more memory for a thousandth of the time
  EXPECT_THAT(balanced.out, HasSubstr("\"front\":[{\"ms\":"));
  EXPECT_THAT(balanced.out, HasSubstr("\"operators\":7,\"best\":false},{\"ms\":"));
  EXPECT_THAT(balanced.out, HasSubstr("\"operators\":6,\"best\":true}]"));
  const LemmaResult fast = Optimize({"--objective=pareto", "--memory-weight=0"});
  ASSERT_EQ(fast.exit_status, 0) << fast.err;
  EXPECT_TRUE(IsMerged());
  EXPECT_THAT(fast.out, HasSubstr("time and memory, predicted"));
  const LemmaResult limited =
      Optimize({"--objective=pareto", "--memory-weight=0", "--memory-limit=1200K"});
  ASSERT_EQ(limited.exit_status, 0) << limited.err;
  EXPECT_FALSE(IsMerged());
}

// A rule that pays off under one objective may not under another.
TEST_F(ObjectiveTest, WhyNotSpeaksOfTheObjective) {
  EXPECT_THAT(Optimize({"--why-not=merge_matmul_rhs"}).out,
              HasSubstr("    2 x it applies, and the graph gets faster: -"));
  const std::string memory = Optimize({"--why-not=merge_matmul_rhs", "--objective=memory"}).out;
  EXPECT_THAT(memory, HasSubstr("    2 x it applies, but the graph gets worse: -"));
  EXPECT_THAT(memory, HasSubstr(", +131.1 kB\n"));
  EXPECT_THAT(Optimize({"--why-not=merge_matmul_rhs", "--objective=memory", "--json"}).out,
              HasSubstr("\"change_bytes_least\":131072,\"change_bytes_most\":131072"));
}

TEST_F(ObjectiveTest, TheReportNamesTheObjective) {
  ASSERT_EQ(Optimize({"--objective=memory", "--report", folder_ + "/r.html"}).exit_status, 0);
  EXPECT_THAT(ReadAll(folder_ + "/r.html"), HasSubstr("<td>objective</td><td>memory</td>"));
}

TEST_F(ObjectiveTest, WrongUse) {
  ExpectOneLine(Optimize({"--objective=speed"}), {"--objective", "speed"});
  ExpectOneLine(Optimize({"--memory-limit=-1M"}), {"--memory-limit", "500M"});
  ExpectOneLine(Optimize({"--memory-weight=2"}), {"--memory-weight", "from 0 to 1"});
  ASSERT_EQ(Optimize({}).exit_status, 0);
  ExpectOneLine(Optimize({"--objective=memory", "--replay", folder_ + "/o.lemma.cert"}),
                {"--objective", "--replay"});
  ExpectOneLine(Optimize({"--explain", "--replay", folder_ + "/o.lemma.cert"}),
                {"--explain", "--replay"});
}

}  // namespace
}  // namespace lemma
