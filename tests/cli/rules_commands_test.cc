// lemma rules show, stats, explain and export.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kColumns[] = R"(# x·(y | z) = x·y | x·z
rule columns(x: [m,k], y: [k,n], z: [k,n2]) bit_exact {
  a = concat(y, z) {axis = 1}
  b = matmul(x, a)
  return b
} => {
  a = matmul(x, y)
  b = matmul(x, z)
  c = concat(a, b) {axis = 1}
  return c
}
)";
constexpr char kParts[] = R"(
rule parts(x: [m,n], y: [m,n2]) bit_exact {
  a = concat(x, y) {axis = 1}
  b, c = split(a) {axis = 1, sizes = [n, n2]}
  return b, c
} => {
  return x, y
}
)";
constexpr char kMerge[] = R"(# follows from: columns, parts
rule merge(x: [m,k], y: [k,n], z: [k,n2]) bit_exact {
  a = matmul(x, y)
  b = matmul(x, z)
  return a, b
} => {
  e = concat(y, z) {axis = 1}
  f = matmul(x, e)
  a, b = split(f) {axis = 1, sizes = [n, n2]}
  return a, b
}
)";
// The rule `columns` with other names, in another order, and with the sides exchanged.
constexpr char kSame[] = R"(
rule same(u: [k,n], v: [k,n2], w: [m,k]) bit_exact {
  p = matmul(w, u)
  q = matmul(w, v)
  r = concat(p, q) {axis = 1}
  return r
} => {
  p = concat(u, v) {axis = 1}
  q = matmul(w, p)
  return q
}
)";
constexpr char kUnrelated[] =
    "rule unrelated(x: [n]) bit_exact { a = neg(x) b = neg(a) return b } => { return x }\n";

// A file of rules with their records.
std::string Proved(const std::string& text) {
  const std::string rules = WriteTemp("r.txt", text);
  EXPECT_EQ(RunLemma({"verify", rules, "-o", rules}).exit_status, 0);
  return rules;
}
std::string Database() { return Proved(std::string(kColumns) + kParts); }

LemmaResult Explain(const std::string& rules, const std::string& what,
                    const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"rules", "explain", rules, what};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunLemma(arguments);
}

TEST(ExplainTest, ARuleOfTheFile) {
  const std::string rules = Database();
  LemmaResult result = Explain(rules, "columns");
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("# x·(y | z) = x·y | x·z\nrule columns("));
  EXPECT_THAT(result.out, AllOf(HasSubstr("\nin      " + rules + "\n"),
                                HasSubstr("\ndoc     x·(y | z) = x·y | x·z\n"),
                                HasSubstr("\nkeeps   bit_exact\nguard   none\nproof   current\n"),
                                HasSubstr("\nothers  not derivable: ")));
}

TEST(ExplainTest, ARuleThatTheOthersGive) {
  const LemmaResult result =
      Explain(Proved(std::string(kColumns) + kParts + kMerge + kUnrelated), "merge");
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("others  follows in 2 steps: parts backward, columns backward "
                                    "(bit_exact)\n\nat m = "));
}

TEST(ExplainTest, StepByStep) {
  LemmaResult result = Explain(Database(), WriteTemp("m.txt", kMerge), {"--typings=2"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("merge: follows in 2 steps: parts backward, columns backward "
                                     "(bit_exact)\n\nat m = 2, k = 3, n = 4, n2 = 5:\n"));
  EXPECT_THAT(result.out, HasSubstr(R"(# by parts backward
graph merge(x: f32[2,3], y: f32[3,4], z: f32[3,5]) {
  %0 = matmul(x, y)
  %1 = matmul(x, z)
  %2 = concat(%0, %1) {axis = 1}
  y0, y1 = split(%2) {axis = 1, sizes = [4, 5]}
  return y0, y1
}
# by columns backward
graph merge(x: f32[2,3], y: f32[3,4], z: f32[3,5]) {
  %0 = concat(y, z) {axis = 1}
  %1 = matmul(x, %0)
  y0, y1 = split(%1) {axis = 1, sizes = [4, 5]}
  return y0, y1
}
)"));
  result = Explain(Database(), WriteTemp("m.txt", kMerge), {"--json"});
  EXPECT_THAT(result.out, AllOf(StartsWith("{\"file\":"), HasSubstr("\"found\":true"),
                                HasSubstr("\"steps\":[{\"rule\":\"parts\",\"backward\":true,")));
}

TEST(ExplainTest, TheSameUpToNames) {
  const LemmaResult result = Explain(Database(), WriteTemp("s.txt", kSame), {"--brief"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out, "same: the same as columns\n");
}

TEST(ExplainTest, NoIsExitStatusOne) {
  const std::string both = WriteTemp("b.txt", std::string(kMerge) + kUnrelated);
  LemmaResult result = Explain(Database(), both, {"--brief"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(result.out,
            "merge: follows in 2 steps: parts backward, columns backward (bit_exact)\n"
            "unrelated: not derivable: no further graph can be reached (2 seen from both sides)\n");
  result = Explain(Database(), both, {"--brief", "--max-steps=1"});
  EXPECT_THAT(result.out, HasSubstr("chains of up to 1 step were tried"));
}

// Each rule of a file is derived from the others in it.
TEST(ExplainTest, AFileByItself) {
  const std::string rules = Proved(std::string(kColumns) + kParts + kSame);
  const LemmaResult result = Explain(rules, rules, {"--brief"});
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("columns: the same as same\n"), HasSubstr("parts: not derivable"),
                    HasSubstr("same: the same as columns\n")));
}

TEST(ExplainTest, PrunedRulesByName) {
  const std::string rules = Database();
  const std::string pruned = rules.substr(0, rules.size() - 4) + ".pruned.txt";
  ExpectOneLine(Explain(rules, "merge"), {"no rule named merge in " + rules});
  std::FILE* file = std::fopen(pruned.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs(kMerge, file);
  std::fclose(file);
  const LemmaResult result = Explain(rules, "merge", {"--brief"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out,
            "merge: follows in 2 steps: parts backward, columns backward (bit_exact)\n"
            "left out: follows from: columns, parts\n");
  ExpectOneLine(Explain(rules, "merge", {"--pruned=/nowhere.txt"}), {"/nowhere.txt"});
}

// Nothing is derived from rules that are not proved.
TEST(ExplainTest, UnprovedRulesAreNotUsed) {
  const std::string rules = WriteTemp("r.txt", std::string(kColumns) + kParts);
  ASSERT_EQ(RunLemma({"verify", rules, "-o", rules, "--only=columns"}).exit_status, 0);
  const LemmaResult result = Explain(rules, WriteTemp("m.txt", kMerge), {"--brief"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("merge: not derivable"));
  EXPECT_THAT(result.err, HasSubstr("lemma: note: 1 of 2 rules of " + rules +
                                    " are not used, among them parts: it has "));
  EXPECT_THAT(Explain(rules, "parts").out, HasSubstr("\nproof   it has no proof\n"));
}

TEST(PruneTest, WritesBothFiles) {
  const std::string rules =
      Proved(absl::StrCat("# Made by hand.\n\n", kColumns, kParts, kMerge, kSame));
  const std::string out = NewFolder() + "/out.txt", again = NewFolder() + "/out.txt";
  LemmaResult result = RunLemma({"rules", "prune", rules, "-o", out});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  const std::string pruned = out.substr(0, out.size() - 4) + ".pruned.txt";
  EXPECT_EQ(result.out, "4 rules: 2 kept, 2 follow from them and are in " + pruned + "\n");
  EXPECT_THAT(ReadAll(out), StartsWith("# Made by hand.\n\n# x·(y | z)"));
  EXPECT_THAT(RunLemma({"rules", out}).out, HasSubstr("2 rules, 2 of them usable"));
  EXPECT_THAT(ReadAll(pruned), HasSubstr("# follows from: columns\nrule same("));
  // Each removed rule follows from the kept ones, and pruning again removes nothing.
  EXPECT_EQ(Explain(out, pruned, {"--brief"}).exit_status, 0);
  result = RunLemma({"rules", "prune", out, "-o", again, "--json"});
  EXPECT_THAT(result.out, HasSubstr("\"rules\":2,\"kept\":2,\"left_out\":0"));
  EXPECT_EQ(ReadAll(again), ReadAll(out));
  // A file of removed rules that an earlier run left is not taken for this one's.
  const std::string stale = NewFolder() + "/out.txt";
  const std::string stale_pruned = stale.substr(0, stale.size() - 4) + ".pruned.txt";
  std::ofstream(stale_pruned) << "# of another run\n";
  EXPECT_EQ(RunLemma({"rules", "prune", Proved(kSame), "-o", stale}).exit_status, 0);
  EXPECT_FALSE(std::filesystem::exists(stale_pruned));
  // The file of removed rules keeps those of the first pruning.
  EXPECT_EQ(ReadAll(again.substr(0, again.size() - 4) + ".pruned.txt"), ReadAll(pruned));
}

TEST(PruneTest, EveryRuleHasToBeProved) {
  const std::string rules = WriteTemp("r.txt", kColumns), folder = NewFolder();
  ExpectOneLine(RunLemma({"rules", "prune", rules, "-o", folder + "/o.txt"}),
                {"r.txt: rule columns gives nothing: it has no proof"});
  ExpectOneLine(RunLemma({"rules", "prune", rules}), {"where to?"});
  ExpectOneLine(RunLemma({"rules", "prune", "-o", folder + "/o.txt"}), {"which RULES?"});
  EXPECT_TRUE(FilesIn(folder).empty());
}

TEST(StatsTest, Counts) {
  const std::string rules = WriteTemp(
      "r.txt", std::string(kColumns) + kParts + kUnrelated +
                   "rule g(x: [n], y: [n], z: [n]) reassociates where n <= 3 { a = add(x, y) "
                   "b = add(a, z) return b } => { a = add(y, z) b = add(x, a) return b }\n");
  ASSERT_EQ(RunLemma({"verify", rules, "-o", rules, "--only=columns,g"}).exit_status, 0);
  LemmaResult result = RunLemma({"rules", "stats", rules});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out,
              StartsWith("4 rules, 2 of them usable, 1 with a guard, 1 with several outputs\n"));
  result = RunLemma({"rules", "stats", rules, "--json"});
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("\"records\":{\"none\":2,\"proved\":2}"),
            HasSubstr("\"contracts\":{\"bit_exact\":3,\"reassociates\":1}"),
            HasSubstr("\"kinds\":{\"associates\":1,\"fewer operators\":2,\"more operators\":1}"),
            HasSubstr("{\"source\":2,\"target\":3,\"rules\":1}"),
            HasSubstr("\"concat\":{\"source\":2,\"target\":1}")));
}

TEST(StatsTest, StaleRecordsAreTold) {
  std::string text = ReadAll(Database());
  text.replace(text.find("concat(a, b)"), 12, "concat(b, a)");
  const LemmaResult result = RunLemma({"rules", "stats", WriteTemp("r.txt", text), "--json"});
  EXPECT_THAT(result.out, HasSubstr("\"records\":{\"proved\":1,\"stale\":1}"));
}

TEST(ExportTest, TextReadsBackAsTheSameRules) {
  const std::string rules = Database(), out = NewFolder() + "/out.txt";
  LemmaResult result = RunLemma({"rules", "export", rules, "-o", out});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(RunLemma({"rules", "export", out}).out, ReadAll(out));
  EXPECT_THAT(RunLemma({"rules", out}).out, HasSubstr("2 rules, 2 of them usable"));
}

TEST(ExportTest, OneRuleAsJsonAndDot) {
  const std::string rules = Database();
  LemmaResult result = RunLemma({"rules", "export", rules, "parts", "--format=json"});
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("\"rule\":\"parts\""), Not(HasSubstr("\"rule\":\"columns\"")),
            HasSubstr("\"variables\":[{\"name\":\"x\",\"dims\":\"[m, n]\"}"),
            HasSubstr("{\"operator\":\"split\",\"inputs\":[{\"node\":0,\"output\":0}],"
                      "\"attributes\":{\"axis\":\"1\",\"sizes\":\"[n, n2]\"},\"outputs\":2}"),
            HasSubstr("\"target_pattern\":{\"nodes\":[],\"outputs\":[{\"variable\":\"x\"},"
                      "{\"variable\":\"y\"}]}")));
  result = RunLemma({"rules", "export", rules, "parts", "--format=dot"});
  EXPECT_THAT(result.out, AllOf(StartsWith("digraph rules {"), HasSubstr("label=\"parts\""),
                                HasSubstr("r0s_n0 -> r0s_n1;"), HasSubstr("r0t_v0 -> r0t_o0;")));
}

TEST(ShowTest, PrintsRules) {
  const std::string rules = Database();
  LemmaResult result = RunLemma({"rules", "show", rules, "parts"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("rule parts("), HasSubstr("\n# usable")));
  EXPECT_THAT(RunLemma({"rules", "show", rules}).out,
              AllOf(HasSubstr("rule columns("), HasSubstr("rule parts(")));
}

TEST(RulesCommandsTest, BadInput) {
  const std::string rules = WriteTemp("r.txt", kColumns);
  ExpectOneLine(RunLemma({"rules", "explain", rules}), {"RULES and WHAT, please"});
  ExpectOneLine(Explain("/nowhere.txt", "columns"), {"/nowhere.txt"});
  ExpectOneLine(Explain(rules, "colums"), {"did you mean columns?"});
  ExpectOneLine(Explain(rules, WriteTemp("e.txt", "rule")), {"e.txt:1"});
  ExpectOneLine(Explain(rules, "columns", {"--max-steps=0"}), {"--max-steps: must be in 1"});
  ExpectOneLine(Explain(rules, "columns", {"--typings=99"}), {"--typings: must be in 1"});
  ExpectOneLine(RunLemma({"rules", "stats", rules, "b"}), {"'b' is one too many"});
  ExpectOneLine(RunLemma({"rules", "stats", "/nowhere.txt"}), {"/nowhere.txt"});
  ExpectOneLine(RunLemma({"rules", "show"}), {"which RULES?"});
  ExpectOneLine(RunLemma({"rules", "show", rules, "column"}), {"did you mean columns?"});
  ExpectOneLine(RunLemma({"rules", "export"}), {"which RULES?"});
  ExpectOneLine(RunLemma({"rules", "export", rules, "--format=svg"}), {"svg"});
  const std::string folder = NewFolder();
  ExpectOneLine(RunLemma({"rules", "export", rules, "-o", folder + "/no/x.txt"}),
                {"cannot be written"});
  EXPECT_TRUE(FilesIn(folder).empty());
}

}  // namespace
}  // namespace lemma
