// lemma generate as a user meets it.
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rule_text.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const char kOps[] = "--ops=matmul,relu,transpose,split0,concat0_2d";

struct Generated : LemmaResult {
  std::string rules, rejected;
};
Generated GenerateRules(const std::vector<std::string>& more) {
  const std::string folder = NewFolder();
  std::vector<std::string> arguments = {"generate", kOps, "-o", folder + "/rules.txt",
                                        "--rejected=" + folder + "/rejected.txt"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Generated run{RunLemma(arguments), "", ""};
  if (run.exit_status == 0) {
    run.rules = ReadAll(folder + "/rules.txt");
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
  // The records are of the rules as they are: the verifier agrees with every one.
  const std::string file = WriteTemp("rules.txt", run.rules);
  const LemmaResult verified = RunLemma({"verify", file});
  EXPECT_EQ(verified.exit_status, 0) << verified.out;
  EXPECT_THAT(verified.out, Not(HasSubstr("out of date")));
}

TEST(GenerateTest, SameBytesForAnyNumberOfThreads) {
  const Generated one = GenerateRules({"--threads=1"}), three = GenerateRules({"--threads=3"});
  ASSERT_EQ(one.exit_status, 0) << one.err;
  EXPECT_EQ(one.rules, three.rules);
  EXPECT_EQ(one.rejected, three.rejected);
}

TEST(GenerateTest, CountsOnly) {
  const LemmaResult result = RunLemma({"generate", "--count", "--ops=relu", "--json"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"graphs\":"));
}

TEST(GenerateTest, InterruptedWritesNothing) {
  const std::string folder = NewFolder();
  // It can be interrupted from its beginning; a tenth of a second later it is at work.
  int asked = 0;
  const LemmaResult result =
      InterruptLemma({"generate", "--max-ops=3", "-o", folder + "/rules.txt"}, [&] {
        absl::SleepFor(absl::Milliseconds(100));
        return ++asked > 5;
      });
  EXPECT_EQ(result.exit_status, 130) << result.out;
  EXPECT_TRUE(FilesIn(folder).empty());
}

TEST(GenerateTest, WrongUse) {
  ExpectOneLine(RunLemma({"generate"}), {"-o RULES"});
  ExpectOneLine(RunLemma({"generate", "--count", "--ops=nosuch"}), {"--ops", "nosuch", "matmul"});
  ExpectOneLine(RunLemma({"generate", "--count", "--max-ops=9"}), {"--max-ops", "1…4"});
  ExpectOneLine(RunLemma({"generate", "-o", "/nonexistent/rules.txt"}), {"/nonexistent"});
  ExpectOneLine(RunLemma({"generate", "--count", "model.onnx"}), {"model.onnx"});
}

}  // namespace
}  // namespace lemma
