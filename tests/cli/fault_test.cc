// Each command, with an allocation or a step of writing that fails at one of many places: exit
// status 2, one line, and no file that is incomplete or left over.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kModel[] = R"(graph g(x: f32[4,8], w: weight f32[8,3] = fill 0.5) {
  a = transpose(x) {perm = [1,0]} b = transpose(a) {perm = [1,0]} c = matmul(b, w) return c })";
constexpr char kRules[] = R"(rule relu_of_relu(x: [n]) bit_exact {
  a = relu(x) b = relu(a) return b } => { c = relu(x) return c })";

class FaultTest : public testing::Test {
 protected:
  // Each command writes into `folder`, if it writes anything.
  std::vector<std::vector<std::string>> Commands(const std::string& folder) const {
    return {
        {"run", model_, "--runs=1", "--trace", folder + "/t.json"},
        {"optimize", model_, "-o", folder + "/o.onnx", "--cost=analytic", "--runs=3", "--report",
         folder + "/r.html"},
        {"check", model_, out_, out_ + ".cert", "--samples=1"},
        {"verify", rules_, "-o", folder + "/v.txt"},
        {"prove", model_, model_},
        {"train", model_, "--loss=mse", "--lr=0.1", "-o", folder + "/s.onnx"},
        {"show", model_, "--format=dot"},
        {"costs", "import", costs_, "--cost-db", folder + "/db"},
        {"costs", "export", "--cost-db", db_, "-o", folder + "/c.txt"},
        {"run", step_, "--steps=2", "--checkpoint", folder + "/c.safetensors"},
        {"generate", "--ops=relu,add", "--max-ops=2", "-o", folder + "/g.txt"},
        {"pet", model_},
        {"rules", "prune", proved_, "-o", folder + "/p.txt"},
    };
  }

  static void SetUpTestSuite() {
    model_ = WriteTemp("m.lemma", kModel);
    rules_ = WriteTemp("r.txt", kRules);
    costs_ = WriteTemp("c.txt", "lemma costs 2\ndevice d\n0.5 0 1 0 0 0 k\n");
    const std::string folder = NewFolder();
    out_ = folder + "/o.lemma";
    step_ = folder + "/s.lemma";
    db_ = folder + "/db";
    proved_ = folder + "/r.txt";
    ASSERT_EQ(RunLemma({"verify", rules_, "-o", proved_}).exit_status, 0);
    ASSERT_EQ(RunLemma({"optimize", model_, "-o", out_, "--cost=analytic", "--runs=3"}).exit_status,
              0);
    ASSERT_EQ(RunLemma({"train", model_, "--loss=mse", "--lr=0.1", "-o", step_}).exit_status, 0);
    ASSERT_EQ(RunLemma({"costs", "import", costs_, "--cost-db", db_}).exit_status, 0);
  }

  static LemmaResult RunWithFault(const std::string& fault, const std::vector<std::string>& words) {
    const std::string library = std::filesystem::absolute("tests/cli/libfaults.so").string();
    return RunLemmaUnder({"env", "LD_PRELOAD=" + library, "LEMMA_FAULTS=" + fault}, words);
  }

  static void ExpectOneLineAndNoFile(const LemmaResult& result, const std::string& folder) {
    EXPECT_EQ(result.exit_status, 2) << result.err;
    EXPECT_EQ(result.err.find("lemma: "), 0u) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
    EXPECT_THAT(FilesIn(folder), IsEmpty());
  }

  static std::string model_, rules_, proved_, costs_, out_, step_, db_;
};
std::string FaultTest::model_, FaultTest::rules_, FaultTest::proved_, FaultTest::costs_,
    FaultTest::out_, FaultTest::step_, FaultTest::db_;

TEST_F(FaultTest, TheNthAllocationFails) {
  const size_t commands = Commands("").size();
  int places = 0;
  for (size_t i = 0; i < commands; ++i) {
    int failed = 0;
    for (int n = 1; n < 10000000; n += 1 + n * 3 / 4) {
      const std::string folder = NewFolder();
      const std::vector<std::string> words = Commands(folder)[i];
      const LemmaResult result = RunWithFault("new:" + std::to_string(n), words);
      SCOPED_TRACE(words[0] + " new:" + std::to_string(n));
      if (result.exit_status == 0) break;  // fewer are made
      ++failed;
      // SQLite does not remove a complete database, and recovers from the log beside it.
      if (words[0] == "costs") {
        for (const char* name : {"/db", "/db-wal", "/db-shm"}) {
          std::filesystem::remove(folder + name);
        }
      }
      if (words[0] == "generate") std::filesystem::remove_all(folder + "/g.txt.run");  // to resume
      ExpectOneLineAndNoFile(result, folder);
      EXPECT_THAT(result.err, HasSubstr("memory"));
    }
    EXPECT_GT(failed, 1) << Commands("")[i][0];
    places += failed;
  }
  EXPECT_GE(places, 200);
}

TEST_F(FaultTest, TheNthStepOfWritingFails) {
  const size_t commands = Commands("").size();
  int failed = 0;
  for (size_t i = 0; i < commands; ++i) {
    for (int n = 1; n <= 12; ++n) {
      const std::string folder = NewFolder();
      const std::vector<std::string> words = Commands(folder)[i];
      const LemmaResult result = RunWithFault("write:" + std::to_string(n), words);
      SCOPED_TRACE(words[0] + " write:" + std::to_string(n));
      if (result.exit_status == 0) continue;  // fewer are made, or it was a folder's sync
      ++failed;
      EXPECT_EQ(result.exit_status, 2) << result.err;
      EXPECT_EQ(result.err.find("lemma: "), 0u) << result.err;
      EXPECT_THAT(result.err,
                  AnyOf(HasSubstr("No space left"), HasSubstr("full"), HasSubstr("disk I/O")));
      for (const std::string& name : FilesIn(folder)) {
        EXPECT_EQ(name.find(".lemma-"), std::string::npos) << name;
      }
    }
  }
  EXPECT_GT(failed, 20);
}

}  // namespace
}  // namespace lemma
