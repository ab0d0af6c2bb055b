#include "api/generate.h"

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/base/temp_files.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A run of less than a second, its results in a folder of its own.
struct Session {
  Session() {
    options.ops = {"matmul", "relu", "transpose", "split0", "concat0_2d"};
    options.output = folder + "/rules.txt";
    options.rejected = folder + "/rejected.txt";
  }
  std::string Results() const {
    return absl::StrCat(ReadAll(options.output), "\f", ReadAll(folder + "/rules.pruned.txt"), "\f",
                        ReadAll(options.rejected));
  }
  const std::string folder = NewFolder();
  api::GenerateOptions options;
};

TEST(ApiGenerateTest, WritesProvedRules) {
  Session session;
  int proved = 0;
  session.options.decided = [&](bool is_proved, bool known) {
    EXPECT_FALSE(known);
    proved += is_proved ? 1 : 0;
  };
  const auto result = api::Generate(session.options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->enumerated.graphs, 0);
  EXPECT_GT(result->written, 4);
  EXPECT_EQ(result->resumed, 0);
  EXPECT_GE(proved, result->decided.proved);
  EXPECT_THAT(ReadAll(session.options.output),
              StartsWith("# Made by: lemma generate --ops=matmul,"));
  for (const std::string& file : FilesIn(session.folder)) EXPECT_NE(file, "rules.txt.run");
}

TEST(ApiGenerateTest, InterruptedItIsResumed) {
  Session undisturbed, session;
  ASSERT_TRUE(api::Generate(undisturbed.options).ok());
  std::atomic<bool> interrupted{false};
  int decided = 0;
  api::GenerateOptions options = session.options;
  options.interrupted = &interrupted;
  options.decided = [&](bool, bool) { interrupted = ++decided == 3; };
  const absl::Status status = api::Generate(options).status();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("rules.txt.run keeps what was done, for option resume"));
  EXPECT_THAT(FilesIn(session.folder), ElementsAre("rules.txt.run"));
  EXPECT_THAT(api::Generate(session.options).status().message(),
              HasSubstr("go on with it by option resume"));
  session.options.resume = true;
  const auto result = api::Generate(session.options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->resumed, 3);
  EXPECT_EQ(session.Results(), undisturbed.Results());
  EXPECT_EQ(FilesIn(session.folder), FilesIn(undisturbed.folder));
}

TEST(ApiGenerateTest, PartsGiveTheSameRules) {
  Session whole, session;
  ASSERT_TRUE(api::Generate(whole.options).ok());
  std::vector<std::string> shards;
  for (int i = 0; i < 2; ++i) {
    api::GenerateOptions part = session.options;
    part.rejected = "";
    part.output = absl::StrCat(NewFolder(), "/part.", i);
    shards.push_back(part.output);
    const auto stats = api::EnumerateShard(part, {i, 2});
    ASSERT_TRUE(stats.ok()) << stats.status();
    EXPECT_GT(stats->graphs, 0);
  }
  session.options.shards = {shards[0]};
  EXPECT_THAT(api::Generate(session.options).status().message(), HasSubstr("missing: 1/2"));
  session.options.shards = shards;
  session.options.ops = {"whatever"};  // the shards say that
  ASSERT_TRUE(api::Generate(session.options).ok());
  EXPECT_EQ(session.Results(), whole.Results());
  EXPECT_THAT(api::EnumerateShard(whole.options, {2, 2}).status().message(),
              HasSubstr("option shard"));
}

TEST(ApiGenerateTest, CountsOnly) {
  Session session;
  session.options.output = session.options.rejected = "";
  const auto stats = api::CountGraphs(session.options);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_GT(stats->graphs, stats->classes);
  EXPECT_TRUE(FilesIn(session.folder).empty());
}

TEST(ApiGenerateTest, SaysWhichOptionIsWrong) {
  auto message = [](auto change) {
    Session session;
    change(&session.options);
    const absl::Status status = api::Generate(session.options).status();
    EXPECT_TRUE(FilesIn(session.folder).empty());
    return std::string(status.message());
  };
  EXPECT_THAT(message([](auto* o) { o->ops = {"nosuch"}; }), HasSubstr("option ops: "));
  EXPECT_THAT(message([](auto* o) { o->max_ops = 9; }), HasSubstr("option max_ops: must be in"));
  EXPECT_THAT(message([](auto* o) { o->threads = 0; }), HasSubstr("option threads"));
  EXPECT_THAT(message([](auto* o) { o->memory = 5; }), HasSubstr("option memory"));
  EXPECT_THAT(message([](auto* o) { o->output = ""; }), HasSubstr("option output"));
  EXPECT_THAT(message([](auto* o) { o->output = "/nonexistent/r.txt"; }),
              HasSubstr("/nonexistent"));
}

}  // namespace
}  // namespace lemma
