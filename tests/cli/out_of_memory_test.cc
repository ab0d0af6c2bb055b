// A command that lacks memory ends with one line and exit status 2, wherever memory ran out.
#include <cstdint>
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

constexpr char kModel[] = R"(graph g(x: f32[64,1024], w: weight f32[1024,4096] = fill 0.5) {
  a = matmul(x, w) b = exp(a) c = relu(b) return c })";

int64_t LeastForVersion() {
  for (int64_t kb = 16 << 10; kb < (int64_t{4} << 20); kb += 8 << 10) {
    if (RunLemmaUnder(Ulimit("-v " + std::to_string(kb)), {"--version"}).exit_status == 0) {
      return kb;
    }
  }
  return 0;
}

TEST(OutOfMemoryTest, EveryCommandEndsWithALineUnderEveryLimit) {
  const std::string model = WriteTemp("m.lemma", kModel);
  const int64_t least = LeastForVersion();
  ASSERT_GT(least, 0);
  int short_of_memory = 0;
  for (int i = 0; i < 10; ++i) {
    const std::string limit = "-v " + std::to_string(least + (i * i << 12));
    const std::string results = NewFolder(), state = NewFolder();
    const std::vector<std::vector<std::string>> commands = {
        {"run", model, "--runs=1", "--threads=2"},
        {"run", model, "--runs=1", "--backend=reference"},
        {"optimize", model, "-o", results + "/o.lemma", "--runs=3", "--cost=analytic"},
        {"prove", model, model},
        {"train", model, "--loss=mse", "-o", state + "/s.lemma"},
        {"show", model, "--values"},
    };
    for (const std::vector<std::string>& command : commands) {
      const LemmaResult result = RunLemmaUnder(Ulimit(limit), command);
      if (result.exit_status == 0) continue;
      ++short_of_memory;
      SCOPED_TRACE(command[0] + " under " + limit);
      EXPECT_EQ(result.exit_status, 2) << result.err;
      // If libgomp gets no thread, it prints its own line, after an empty one.
      const size_t line = result.err.find_first_not_of('\n');
      ASSERT_NE(line, std::string::npos);
      EXPECT_EQ(result.err.find('\n', line), result.err.size() - 1) << result.err;
      EXPECT_THAT(result.err, AnyOf(HasSubstr("memory"), HasSubstr("Thread creation failed")));
      if (command[0] == "optimize") {
        EXPECT_THAT(FilesIn(results), IsEmpty());
      }
      if (command[0] == "train") {
        EXPECT_THAT(FilesIn(state), IsEmpty());
      }
    }
  }
  EXPECT_GT(short_of_memory, 10);
}

}  // namespace
}  // namespace lemma
