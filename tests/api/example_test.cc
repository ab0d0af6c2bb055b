// The example of docs/library.md runs, and its text is the page's.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "api/check.h"
#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Read(const std::string& path) {
  auto text = ReadFile(path, int64_t{1} << 20);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

// Runs the program and returns its output; its exit status goes to *status.
std::string Execute(const std::string& command, int* status) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 256> piece;
  while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) output += piece.data();
  *status = pclose(pipe);
  return output;
}

TEST(ExampleTest, MakesAModelFaster) {
  const std::string folder = testing::TempDir(), in = folder + "/in.lemma";
  const std::string out = folder + "/out.lemma";
  ASSERT_TRUE(WriteFileAtomically(in, {R"(graph g(x: f32[256,256]) {
    f = constant f32[256,256] fill 0.5
    g = constant f32[256,256] fill 0.25
    a = matmul(x, f) b = matmul(x, g) y = add(a, b)
    return y
  })"})
                  .ok());
  int status = 1;
  const std::string printed = Execute("docs/example_optimize " + in + " " + out, &status);
  ASSERT_EQ(status, 0);
  EXPECT_THAT(printed, StartsWith("matmul_factor_left"));
  EXPECT_THAT(printed, HasSubstr(" ms after\n"));
  auto checked = api::CheckCertificate(in, out, out + ".cert", {});
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->problem(), "");
  Execute("docs/example_optimize " + folder + "/none.lemma " + out + " 2>&1", &status);
  EXPECT_NE(status, 0);
}

TEST(ExampleTest, ThePageShowsIt) {
  const std::string page = Read("docs/library.md"), example = Read("docs/example_optimize.cc");
  const std::string fence = "```cpp\n";
  const size_t begin = page.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const size_t end = page.find("```", begin + fence.size());
  const std::string shown = page.substr(begin + fence.size(), end - begin - fence.size());
  EXPECT_THAT(example, HasSubstr(shown));
}

}  // namespace
}  // namespace lemma
