#include "api/verify.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/temp_files.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The second rule is false, and the third one promises too much.
constexpr char kRules[] =
    "# kept\nrule twice(x: [n]) bit_exact { y = relu(x) z = relu(y) return z } => "
    "{ y = relu(x) return y }\n"
    "rule wrong(x: [n]) bit_exact { y = neg(x) z = exp(y) return z } => "
    "{ z = exp(x) return z }\n"
    "rule factor(x: [n], y: [n], z: [n]) bit_exact { p = mul(x, y) q = mul(x, z) "
    "s = add(p, q) return s } => { s = add(y, z) p = mul(x, s) return p }\n";

TEST(ApiVerifyTest, DecidesEachRuleAndWritesTheRecords) {
  api::VerifyOptions options;
  options.output = NewFolder() + "/out.txt";
  options.jobs = 2;
  std::vector<int> progress;
  options.progress = [&](int done, int all) {
    EXPECT_EQ(all, 3);
    progress.push_back(done);
  };
  const auto result = api::Verify(WriteTemp("r.txt", kRules), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->ok());
  ASSERT_EQ(result->rules.size(), 3u);
  EXPECT_TRUE(result->rules[0].outcome.ok());
  EXPECT_EQ(result->rules[0].record_problem, "it has no proof");
  EXPECT_TRUE(IsRefuted(result->rules[1].outcome.verdict));
  EXPECT_TRUE(IsProved(result->rules[2].outcome.verdict));
  EXPECT_FALSE(result->rules[2].outcome.contract_holds());
  EXPECT_EQ(progress, std::vector<int>({1, 2, 3}));
  const std::string text = ReadAll(options.output);
  EXPECT_THAT(text, StartsWith("# kept\nrule twice"));
  EXPECT_THAT(text, HasSubstr("proved bit_exact"));
  EXPECT_THAT(text, HasSubstr("refuted"));
  EXPECT_THAT(text, HasSubstr("rule factor(x: [n], y: [n], z: [n]) bit_exact"));
}

TEST(ApiVerifyTest, RelaxesWhatIsPromisedInVain) {
  api::VerifyOptions options;
  options.only = {"factor"};
  options.relax = true;
  EXPECT_THAT(api::Verify(WriteTemp("r.txt", kRules), options).status().message(),
              HasSubstr("option relax changes what is written: it needs option output"));
  options.output = NewFolder() + "/out.txt";
  const auto result = api::Verify(WriteTemp("r.txt", kRules), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rules.size(), 1u);
  EXPECT_THAT(ReadAll(options.output),
              HasSubstr("rule factor(x: [n], y: [n], z: [n]) reassociates"));
}

TEST(ApiVerifyTest, WritesNothingWhereItIsWrongOrInterrupted) {
  const std::string rules = WriteTemp("r.txt", kRules), folder = NewFolder();
  api::VerifyOptions options;
  options.output = folder + "/out.txt";
  options.jobs = 0;
  EXPECT_THAT(api::Verify(rules, options).status().message(), HasSubstr("option jobs"));
  options.jobs = 1;
  options.only = {"twic"};
  EXPECT_THAT(api::Verify(rules, options).status().message(), HasSubstr("did you mean twice?"));
  options.only = {};
  std::atomic<bool> interrupted{false};
  options.proof.interrupted = &interrupted;
  options.progress = [&](int, int) { interrupted = true; };
  EXPECT_TRUE(absl::IsCancelled(api::Verify(rules, options).status()));
  EXPECT_TRUE(FilesIn(folder).empty());
  EXPECT_FALSE(api::Verify("/nowhere.txt").ok());
}

TEST(ApiReplayTest, AcceptsTheProofsOfTheseRules) {
  const std::string rules = WriteTemp("r.txt", kRules), proofs = NewFolder();
  api::VerifyOptions options;
  options.only = {"twice", "factor"};
  options.proof.proofs = proofs;
  ASSERT_TRUE(api::Verify(rules, options).ok());
  api::ReplayOptions replay;
  replay.only = {"twice"};
  auto result = api::Replay(rules, proofs, replay);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rules.size(), 1u);
  EXPECT_EQ(result->accepted(), 1);
  std::filesystem::remove(proofs + "/twice.proof");
  result = api::Replay(rules, proofs, replay);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->accepted(), 0);
  EXPECT_THAT(result->rules[0].problem, HasSubstr("there is no proof"));
  EXPECT_TRUE(absl::IsNotFound(api::Replay(rules, "/nowhere").status()));
  const std::atomic<bool> interrupted{true};
  replay.interrupted = &interrupted;
  EXPECT_TRUE(absl::IsCancelled(api::Replay(rules, proofs, replay).status()));
}

}  // namespace
}  // namespace lemma
