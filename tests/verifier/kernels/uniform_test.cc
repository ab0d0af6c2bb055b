// Which variables hold one value for all threads of a block.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/codegen/grid_program.h"
#include "verifier/kernels/printed/analysis.h"
#include "verifier/kernels/printed/parser.h"

namespace lemma::kernels {
namespace {

// Whether `variable` is uniform in a kernel with these statements.
bool IsUniform(const std::string& statements, const std::string& variable) {
  codegen::GridKernel kernel;
  kernel.name = "k";
  kernel.threads = 32;
  kernel.reads = {0};
  kernel.writes = {1};
  kernel.code = absl::StrCat(
      "extern \"C\" __global__ void __launch_bounds__(32)\n"
      "k(const float* __restrict__ p0, float* __restrict__ p1) {\n"
      "const int item = threadIdx.x;\n",
      statements, "Store(p1 + item, float(Load<float>(p0[item])));\n}\n");
  auto printed = ParseKernel(kernel, {{DType::kF32, 32}, {DType::kF32, 32}});
  if (!printed.ok()) {
    ADD_FAILURE() << printed.status();
    return false;
  }
  FindUniform(&*printed);
  const auto found = std::find_if(printed->variables.begin(), printed->variables.end(),
                                  [&](const Variable& v) { return v.name == variable; });
  EXPECT_NE(found, printed->variables.end());
  return found->uniform;
}

TEST(Uniform, AllThreadsLeaveTheLoopTogether) {
  EXPECT_TRUE(
      IsUniform("int stage = 0;\n"
                "for (int depth = 0;; depth += 2) {\n"
                "if (depth >= 8) break;\n"
                "stage ^= 1;\n"
                "}\n",
                "stage"));
}

TEST(Uniform, ThreadsLeaveTheLoopApart) {
  EXPECT_FALSE(
      IsUniform("int stage = 0;\n"
                "for (int depth = 0;; depth += 2) {\n"
                "if (depth >= item) break;\n"
                "stage ^= 1;\n"
                "}\n",
                "stage"));
}

// That threads leave apart shows only behind the loop.
TEST(Uniform, ThreadsLeaveTheLoopApartInTheSecondRound) {
  const std::string rounds =
      "int stage = 0;\n"
      "int end = 8;\n"
      "for (int round = 0; round < 2; ++round) {\n"
      "for (int depth = 0;; depth += 2) {\n"
      "if (depth >= end) break;\n"
      "stage ^= 1;\n"
      "}\n"
      "end += ";
  EXPECT_FALSE(IsUniform(rounds + "item;\n}\n", "stage"));
  EXPECT_TRUE(IsUniform(rounds + "3;\n}\n", "stage"));
}

}  // namespace
}  // namespace lemma::kernels
