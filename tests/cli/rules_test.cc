// lemma rules, and the optimizer's refusal of rules that are not proved.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRules[] =
    "rule neg_twice(x: [s..]) bit_exact { y = neg(x) z = neg(y) return z } => { return x }\n"
    "rule relu_twice(x: [s..]) bit_exact { y = relu(x) z = relu(y) return z } => "
    "{ y = relu(x) return y }\n";
constexpr char kGraph[] = "graph g(x: f32[64]) { y = neg(x) z = neg(y) w = exp(z) return w }";
constexpr char kSample[] = "tests/rewrite/taso/sample_rules.pb";

std::string Proved() {
  const std::string rules = WriteTemp("r.txt", kRules);
  EXPECT_EQ(RunLemma({"verify", rules, "-o", rules}).exit_status, 0);
  return rules;
}

struct Optimized : LemmaResult {
  std::string written;  // "" if nothing
};

Optimized Optimize(const std::string& rules, const std::vector<std::string>& more = {}) {
  const std::string folder = NewFolder(), out = folder + "/out.lemma";
  std::vector<std::string> arguments = {
      "optimize", WriteTemp("g.lemma", kGraph), "-o", out, "--rules", rules, "--cost=analytic",
      "--runs=3"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return {RunLemma(arguments), FilesIn(folder).empty() ? "" : ReadAll(out)};
}

TEST(UnprovedRulesTest, ProvedOnesAreUsed) {
  Optimized result = Optimize(Proved());
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("UNPROVED")));
}

TEST(UnprovedRulesTest, AreRefused) {
  const std::string rules = WriteTemp("r.txt", kRules);
  Optimized result = Optimize(rules);
  ExpectOneLine(result,
                {"r.txt: rule neg_twice may not be used: it has no proof (and 1 more rules)",
                 "lemma verify " + rules + " -o " + rules, "--allow-unproved"});
  EXPECT_EQ(result.written, "");
  // Rules that are not selected need not be proved.
  const std::string half = WriteTemp("r.txt", kRules);
  ASSERT_EQ(RunLemma({"verify", half, "-o", half, "--only=neg_twice"}).exit_status, 0);
  EXPECT_EQ(Optimize(half, {"--only=neg_twice"}).exit_status, 0);
  EXPECT_EQ(Optimize(half, {"--disable=relu_twice"}).exit_status, 0);
  ExpectOneLine(Optimize(half), {"rule relu_twice"});
}

// Replaces `from`, which must be there, in a file.
std::string Edited(const std::string& path, const std::string& from, const std::string& to) {
  std::string text = ReadAll(path);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << text;
  return WriteTemp("edited.txt", text.replace(at, from.size(), to));
}

TEST(UnprovedRulesTest, StaleAndTamperedOnesAreRefused) {
  const std::string rules = Proved();
  ExpectOneLine(Optimize(Edited(rules, "y = neg(x)", "y = abs(x)")), {"neg_twice", "stale"});
  ExpectOneLine(Optimize(Edited(rules, "proved bit_exact \"", "proved bit_exact \"0")),
                {"neg_twice", "stale"});
  ExpectOneLine(Optimize(Edited(rules, "proved bit_exact", "proved real_only")),
                {"neg_twice", "promises bit_exact, but only real_only is proved"});
  ExpectOneLine(Optimize(Edited(rules, "proved bit_exact", "refuted")), {"neg_twice", "false"});
  ExpectOneLine(Optimize(Edited(rules, "proved bit_exact", "proven bit_exact")), {"edited.txt:2:"});
}

TEST(UnprovedRulesTest, AllowedLoudly) {
  const std::string rules = WriteTemp("r.txt", kRules);
  Optimized result = Optimize(rules, {"--allow-unproved", "--budget=50"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("WARNING: --allow-unproved"));
  EXPECT_THAT(result.err, HasSubstr("neg_twice, relu_twice"));
  EXPECT_THAT(result.out, HasSubstr("UNPROVED rules were allowed: neg_twice, relu_twice"));
  result = Optimize(rules, {"--allow-unproved", "--json"});
  EXPECT_THAT(result.err, HasSubstr("WARNING"));
  EXPECT_THAT(result.out,
              HasSubstr("\"unproved_rules_allowed\":{\"neg_twice\":\"it has no proof\""));
  // If all rules are proved, the flag causes no warning.
  EXPECT_EQ(Optimize(Proved(), {"--allow-unproved"}).err, "");
}

TEST(RulesTest, Lists) {
  LemmaResult result = RunLemma({"rules", Proved()});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("neg_twice   proved  bit_exact  neg + neg => nothing"));
  EXPECT_THAT(result.out, HasSubstr("2 rules, 2 of them usable"));
  result = RunLemma({"rules", WriteTemp("r.txt", kRules)});
  EXPECT_THAT(result.out, HasSubstr("relu_twice: it has no proof\n2 rules, 0 of them usable"));
}

TEST(RulesTest, ListsAndShowsTheBuiltInOnes) {
  LemmaResult result = RunLemma({"rules", "--json"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"rule\":\"merge_matmul_rhs\""));
  EXPECT_THAT(result.out, Not(HasSubstr("\"usable\":false")))
      << "run lemma verify data/rules/starter.txt -o data/rules/starter.txt";
  EXPECT_THAT(result.out, HasSubstr("\"rule\":\"taso_gen_"));
  result = RunLemma({"rules", "starter"});
  EXPECT_THAT(result.out, HasSubstr("merge_matmul_rhs"));
  EXPECT_THAT(result.out, Not(HasSubstr("taso_gen_")));
  result = RunLemma({"rules", "--show=relu_of_relu"});
  EXPECT_THAT(result.out, HasSubstr("rule relu_of_relu(x: [s..]) bit_exact {"));
  EXPECT_THAT(result.out, HasSubstr("\n# usable"));
}

TEST(RulesTest, ImportsTaso) {
  const std::string out = NewFolder() + "/t.txt";
  LemmaResult result = RunLemma({"rules", "import-taso", kSample, "-o", out});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("25 rules: 23 proved, 2 proved under a guard, 0 refuted, "
                                    "0 unknown"));
  EXPECT_THAT(result.out, HasSubstr("without its guard refuted at "));
  // The result does not depend on the order of the jobs.
  const std::string again = NewFolder() + "/t.txt";
  EXPECT_EQ(RunLemma({"rules", "import-taso", kSample, "-o", again, "--jobs=4"}).exit_status, 0);
  EXPECT_EQ(ReadAll(again), ReadAll(out));
  // The rules written are proved and usable, and verify finds the same records.
  EXPECT_THAT(RunLemma({"rules", out}).out, HasSubstr("21 rules, 21 of them usable"));
  const std::string text = ReadAll(out);
  EXPECT_EQ(RunLemma({"verify", out, "-o", out}).exit_status, 0);
  EXPECT_EQ(ReadAll(out), text);
  EXPECT_EQ(Optimize(out).exit_status, 0);
}

TEST(RulesTest, ImportWithoutGuardsRefutes) {
  LemmaResult result = RunLemma({"rules", "import-taso", kSample, "--synthesize=false"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("25 rules: 23 proved, 0 proved under a guard, 2 refuted"));
}

TEST(RulesTest, BadInput) {
  ExpectOneLine(RunLemma({"rules", "/nowhere.txt"}), {"/nowhere.txt"});
  ExpectOneLine(RunLemma({"rules", "a", "b"}), {"'b' is one too many"});
  ExpectOneLine(RunLemma({"rules", "--show=relu_of_rely"}), {"did you mean relu_of_relu?"});
  ExpectOneLine(RunLemma({"rules", "import-taso"}), {"which FILE?"});
  ExpectOneLine(RunLemma({"rules", "import-taso", "/nowhere.pb"}), {"/nowhere.pb"});
  ExpectOneLine(RunLemma({"rules", "import-taso", WriteTemp("t.pb", "")}), {"t.pb", "empty"});
  ExpectOneLine(RunLemma({"rules", "import-taso", WriteTemp("t.pb", "no protobuf")}), {"t.pb"});
  const std::string folder = NewFolder();
  ExpectOneLine(RunLemma({"rules", "import-taso", kSample, "-o", folder + "/no/t.txt"}),
                {"cannot be written"});
  EXPECT_TRUE(FilesIn(folder).empty());
}

}  // namespace
}  // namespace lemma
