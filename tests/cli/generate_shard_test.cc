// lemma generate, divided among processes.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

const char kOps[] = "matmul,add,relu,transpose,concat0_2d,split0,one,identity_matrix";

std::vector<std::string> Generate(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"generate", absl::StrCat("--ops=", kOps), "--max-ops=3"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}
void RunOrFail(const std::vector<std::string>& arguments) {
  const LemmaResult result = RunLemma(arguments);
  ASSERT_EQ(result.exit_status, 0) << result.err;
}
std::string Shard(const std::string& folder, int index) {
  return absl::StrCat(folder, "/shard.", index);
}
// The results of a run with `-o FOLDER/rules.txt` and so on.
std::string Results(const std::string& folder) {
  return absl::StrCat(ReadAll(folder + "/rules.txt"), "\f", ReadAll(folder + "/rules.pruned.txt"),
                      "\f", ReadAll(folder + "/rejected.txt"));
}
std::vector<std::string> To(const std::string& folder) {
  return {"-o", folder + "/rules.txt", "--rejected=" + folder + "/rejected.txt"};
}
std::vector<std::string> Merge(const std::vector<std::string>& shards, const std::string& folder) {
  std::vector<std::string> arguments = {"generate", "--merge"};
  arguments.insert(arguments.end(), shards.begin(), shards.end());
  for (const std::string& argument : To(folder)) arguments.push_back(argument);
  return arguments;
}
// The results of a run in one process, made once.
const std::string& Unsharded() {
  static const std::string results = [] {
    const std::string folder = NewFolder();
    RunOrFail(Generate(To(folder)));
    return Results(folder);
  }();
  return results;
}

TEST(GenerateShardTest, ThreeShardsGiveTheSameBytes) {
  const std::string folder = NewFolder();
  std::vector<std::string> shards;
  int64_t bytes = 0;
  for (int i = 0; i < 3; ++i) {
    shards.push_back(Shard(folder, i));
    RunOrFail(Generate({absl::StrCat("--shard=", i, "/3"), "-o", shards.back()}));
    bytes += static_cast<int64_t>(ReadAll(shards.back()).size());
  }
  RunOrFail(Generate({"--shard=0/1", "-o", folder + "/whole"}));
  // Each shard holds a part of the classes.
  EXPECT_LT(bytes, static_cast<int64_t>(ReadAll(folder + "/whole").size()) + 3000);
  EXPECT_GT(ReadAll(shards[1]).size() * 4, ReadAll(folder + "/whole").size());

  ASSERT_GT(Unsharded().size(), 10000u);
  RunOrFail(Merge({shards[2], shards[0], shards[1]}, folder));
  EXPECT_TRUE(Results(folder) == Unsharded());
}

TEST(GenerateShardTest, ProcessesOfOpenMpi) {
  if (std::system("command -v mpirun >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "there is no mpirun here; tools/install installs Open MPI";
  }
  const std::string folder = NewFolder();
  const std::string command = absl::StrCat(
      "mpirun -n 3 --allow-run-as-root --oversubscribe sh -c 'cli/lemma generate --ops=", kOps,
      " --max-ops=3 --shard=$OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE -o ", folder,
      "/shard.$OMPI_COMM_WORLD_RANK' >", folder, "/out 2>&1");
  ASSERT_EQ(std::system(command.c_str()), 0) << ReadAll(folder + "/out");
  RunOrFail(Merge({Shard(folder, 0), Shard(folder, 1), Shard(folder, 2)}, folder));
  EXPECT_TRUE(Results(folder) == Unsharded());
}

TEST(GenerateShardTest, WrongUse) {
  const std::string folder = NewFolder(), one = folder + "/one", two = folder + "/two",
                    out = folder + "/rules.txt";
  auto small = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"generate", "--ops=relu,transpose"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  RunOrFail(small({"--shard=0/3", "-o", one}));
  RunOrFail(small({"--shard=1/3", "--seed=5", "-o", two}));
  ExpectOneLine(RunLemma({"generate", "--merge", one, "-o", out}), {"missing", "1/3, 2/3"});
  ExpectOneLine(RunLemma({"generate", "--merge", one, one, "-o", out}), {"both shard 0/3"});
  ExpectOneLine(RunLemma({"generate", "--merge", one, two, "-o", out}), {two, "--seed=5"});
  ExpectOneLine(RunLemma({"generate", "--merge", folder + "/three", "-o", out}), {"three"});
  ExpectOneLine(RunLemma({"generate", "--merge", WriteTemp("text", "rules?"), "-o", out}),
                {"text", "is not a file of classes"});
  const std::string bytes = ReadAll(one);
  EXPECT_THAT(RunLemma(small({"--shard=0/3", "-o", one, "--resume"})).err, HasSubstr("is there"));
  ExpectOneLine(
      RunLemma({"generate", "--merge", WriteTemp("cut", bytes.substr(0, 200)), "-o", out}),
      {"cut", "damaged"});
  ExpectOneLine(RunLemma({"generate", "--merge", "-o", out}), {"which shards"});
  ExpectOneLine(RunLemma({"generate", "--merge", one, "--max-ops=3", "-o", out}), {"--max-ops"});
  ExpectOneLine(RunLemma({"generate", "--merge", one, "--shard=0/3", "-o", out}), {"--shard"});
  for (const char* shard : {"3/3", "-1/3", "1", "1/", "a/b", "0/0", "0/99999"}) {
    ExpectOneLine(RunLemma(small({absl::StrCat("--shard=", shard), "-o", one})),
                  {"--shard", shard, "I/N"});
  }
  ExpectOneLine(RunLemma(small({"--shard=0/3"})), {"-o"});
  ExpectOneLine(RunLemma(small({"--shard=0/3", "-o", one, "--rejected=" + two})), {"--rejected"});
  EXPECT_EQ(ReadAll(one), bytes);
}

}  // namespace
}  // namespace lemma
