// lemma generate as a user sees it.
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const char kOps[] = "--ops=matmul,relu,transpose,split0,concat0_2d";

struct Generated : LemmaResult {
  std::string rules, pruned, rejected;
};
Generated GenerateRules(const std::vector<std::string>& more) {
  const std::string folder = NewFolder();
  std::vector<std::string> arguments = {"generate", kOps, "-o", folder + "/rules.txt",
                                        "--rejected=" + folder + "/rejected.txt"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Generated run{RunLemma(arguments), "", "", ""};
  if (run.exit_status == 0) {
    run.rules = ReadAll(folder + "/rules.txt");
    run.pruned = ReadAll(folder + "/rules.pruned.txt");
    run.rejected = ReadAll(folder + "/rejected.txt");
  }
  return run;
}

TEST(GenerateTest, WritesProvedRulesWithRecords) {
  const Generated run = GenerateRules({});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  for (const char* figure : {"graphs", "candidates", "proved", "refuted", "pruned", "in all:"}) {
    EXPECT_THAT(run.out, HasSubstr(figure));
  }
  EXPECT_THAT(run.rules, HasSubstr("# transpose(transpose(x1)) => x1\n"));
  auto rules = ParseRules(run.rules);
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_GT(rules->size(), 4u);
  for (const Substitution& rule : *rules) {
    EXPECT_EQ(rule.proof.verdict, ProofRecord::Verdict::kProved) << rule.name;
  }
  // The records fit the rules: the verifier agrees with every one.
  const std::string file = WriteTemp("rules.txt", run.rules);
  const LemmaResult verified = RunLemma({"verify", file});
  EXPECT_EQ(verified.exit_status, 0) << verified.out;
  EXPECT_THAT(verified.out, Not(HasSubstr("out of date")));
}

TEST(GenerateTest, SaysWhichRulesFollowFromOthers) {
  const Generated run = GenerateRules({"--max-ops=3"});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  auto rules = ParseRules(run.rules), pruned = ParseRules(run.pruned);
  ASSERT_TRUE(rules.ok() && pruned.ok()) << rules.status() << pruned.status();
  std::set<std::string> names;
  for (const Substitution& rule : *rules) names.insert(rule.name);
  ASSERT_FALSE(pruned->empty());
  for (const Substitution& rule : *pruned) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(rule.doc, absl::MaxSplits("\nfollows from: ", 1));
    for (absl::string_view by : absl::StrSplit(parts.second, ", ")) {
      EXPECT_EQ(names.count(std::string(by)), 1u) << rule.name << " from " << by;
    }
    EXPECT_EQ(names.count(rule.name), 0u);
  }
}

TEST(GenerateTest, SameBytesForAnyNumberOfThreads) {
  const Generated one = GenerateRules({"--threads=1"}), three = GenerateRules({"--threads=3"});
  ASSERT_EQ(one.exit_status, 0) << one.err;
  EXPECT_EQ(one.rules, three.rules);
  EXPECT_EQ(one.pruned, three.pruned);
  EXPECT_EQ(one.rejected, three.rejected);
}

TEST(GenerateTest, CountsOnly) {
  const LemmaResult result = RunLemma({"generate", "--count", "--ops=relu", "--json"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"graphs\":"));
}

TEST(GenerateTest, InterruptedWritesNothing) {
  const std::string folder = NewFolder();
  // Interrupted long before the enumeration ends: nothing is kept.
  const LemmaResult result =
      InterruptLemma({"generate", "--max-ops=4", "-o", folder + "/rules.txt"},
                     [&] { return !FilesIn(folder).empty(); });
  EXPECT_EQ(result.exit_status, 130) << result.out;
  EXPECT_EQ(result.err, "lemma: interrupted: no result was written\n");
  EXPECT_TRUE(FilesIn(folder).empty());
}

TEST(GenerateTest, WrongUse) {
  ExpectOneLine(RunLemma({"generate"}), {"-o RULES"});
  ExpectOneLine(RunLemma({"generate", "--count", "--ops=nosuch"}),
                {"--ops", "nosuch", "taso_plus"});
  ExpectOneLine(RunLemma({"generate", "--count", "--max-ops=9"}), {"--max-ops", "1…5"});
  for (const char* threads : {"0", "257", "many"}) {
    ExpectOneLine(RunLemma({"generate", "--count", absl::StrCat("--threads=", threads)}),
                  {"--threads"});
  }
  for (const char* memory : {"much", "5", "1K"}) {
    ExpectOneLine(RunLemma({"generate", "--count", absl::StrCat("--memory=", memory)}),
                  {"--memory"});
  }
  ExpectOneLine(RunLemma({"generate", "--count", "--seed=x"}), {"--seed", "'x'"});
  ExpectOneLine(RunLemma({"generate", "--count", "--resume"}), {"--resume"});
  ExpectOneLine(RunLemma({"generate", "--cout"}), {"--count"});
  const std::string folder = NewFolder();
  ExpectOneLine(RunLemma({"generate", "-o", "/nonexistent/rules.txt"}), {"/nonexistent"});
  ExpectOneLine(RunLemma({"generate", "-o", folder}), {folder, "is a folder"});
  ExpectOneLine(RunLemma({"generate", "-o", folder + "/a", "--rejected=/nonexistent/b"}),
                {"/nonexistent/b"});
  std::filesystem::create_directory(folder + "/rules.pruned.txt");
  ExpectOneLine(RunLemma({"generate", "-o", folder + "/rules.txt"}), {"rules.pruned.txt"});
  EXPECT_EQ(FilesIn(folder).size(), 1u);
  ExpectOneLine(RunLemma({"generate", "--count", "model.onnx"}), {"model.onnx"});
}

}  // namespace
}  // namespace lemma
