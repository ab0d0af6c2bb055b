// Convolutions by Winograd's algorithm, wherever the library has a kernel for it.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/kernels/convolutions/winograd.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The kernels' notes of a run; empty where the graph does not run.
std::string NotesOf(const Graph& graph, const std::vector<Tensor>& inputs, WinogradUse use,
                    int threads, std::vector<Tensor>* outputs) {
  CompileOptions options;
  options.threads = threads;
  auto executable = MakeCpuBackend({/*fuse_layout=*/true, use})->Compile(graph, options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  if (!executable.ok()) return "";
  std::string notes;
  for (int run = 0; run < 2; ++run) {  // the second run must not depend on the first
    std::vector<KernelTiming> timings;
    auto result = (*executable)->RunTimed(inputs, &timings);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return "";
    notes.clear();
    for (const KernelTiming& t : timings) absl::StrAppend(&notes, t.note, " ");
    *outputs = *std::move(result);
  }
  return notes;
}

bool HasWinograd() { return cpu::MayTakeWinograd({1, 16, 16, 8, 8}); }

// Runs `graph` by Winograd's algorithm and by the definitions; returns the notes of its kernels.
std::string Check(const Graph& graph, const std::vector<Tensor>& inputs, int threads = 1) {
  std::vector<Tensor> outputs;
  const std::string notes = NotesOf(graph, inputs, WinogradUse::kAlways, threads, &outputs);
  auto reference = MakeReferenceBackend(BetweenOperators::kUnrounded)->Compile(graph, {});
  auto expected = (*reference)->Run(inputs);
  EXPECT_TRUE(expected.ok()) << expected.status();
  if (notes.empty() || !expected.ok()) return notes;
  const std::vector<double> tolerances = RelativeTolerances(graph);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Difference d = Compare(outputs[i], (*expected)[i], tolerances[i]);
    EXPECT_TRUE(d.within) << d.ToString() << " of " << inputs[0].type().ToString() << " by "
                          << notes;
  }
  return notes;
}

struct Case {
  int images, in, out, rows, columns;
  const char* pads;
};

std::string Convolution(const Case& c, const std::string& then = "") {
  return absl::Substitute(
      "graph g(x: f32[$0,$1,$2,$3], w: weight f32[$4,$1,3,3], b: weight f32[$4]) {\n"
      "p = conv2d(x, w, b) {pads = $5}\n$6return $7\n}",
      c.images, c.in, c.rows, c.columns, c.out, c.pads, then, then.empty() ? "p" : "y");
}

// Every remainder of rows and columns by the sides of tiles, and every kernel of the library.
TEST(Winograd, ConvolutionsOfEverySizeAreRight) {
  if (!HasWinograd()) GTEST_SKIP() << "no AVX-512";
  int taken = 0;
  for (const char* pads : {"[1,1,1,1]", "[0,0,0,0]", "[0,1,1,0]", "[1,0,1,0]"}) {
    for (int images : {1, 5}) {
      for (int rows = 3; rows <= 10; ++rows) {
        const int columns = rows == 10 ? 3 : rows + 1;
        const Case c{images, rows % 2 == 0 ? 16 : 48, rows % 3 == 0 ? 32 : 16, rows, columns, pads};
        const Graph graph = GraphWithWeights(Convolution(c));
        const std::string notes = Check(graph, RandomInputs(graph), 1 + rows % 2);
        taken += absl::StrContains(notes, "wino");  // the library chooses the tiles
      }
    }
  }
  EXPECT_GT(taken, 40);
}

TEST(Winograd, SumsAndActivationsAreFusedBehindIt) {
  if (!HasWinograd()) GTEST_SKIP() << "no AVX-512";
  for (const Case& c :
       {Case{1, 32, 32, 9, 11, "[1,1,1,1]"}, Case{4, 32, 32, 12, 12, "[1,1,1,1]"}}) {
    for (const char* then : {"y = relu(p)\n", "y = add(p, x)\n", "a = add(p, x)\ny = relu(a)\n",
                             "a = relu(p)\ny = add(a, x)\n", "y = clip(p) {min = 0.0, max = 0.5}\n",
                             "y = silu(p)\n", "a = leaky_relu(p) {alpha = 0.1}\ny = tanh(a)\n"}) {
      const Graph graph = GraphWithWeights(Convolution(c, then));
      Check(graph, RandomInputs(graph));
    }
    const Graph graph = GraphWithWeights(Convolution(c, "a = add(p, x)\ny = relu(a)\n"));
    EXPECT_TRUE(absl::StrContains(Check(graph, RandomInputs(graph)), "wino"));
  }
}

// The algorithm would spread them to outputs whose windows do not contain them.
TEST(Winograd, InfinitiesNaNAndHugeNumbersStayInTheirWindows) {
  if (!HasWinograd()) GTEST_SKIP() << "no AVX-512";
  const Graph graph = GraphWithWeights(Convolution({1, 16, 16, 8, 8, "[1,1,1,1]"}));
  const std::vector<Tensor> plain = RandomInputs(graph);
  for (float value : {kInf, -kInf, kNaN, 1e37f, -1e37f}) {
    for (int64_t at : {0, 5 * 8 + 3, 16 * 64 - 1}) {
      Tensor x = *Tensor::FromDoubles(plain[0].type(), plain[0].ToDoubles());
      x.mutable_data<float>()[at] = value;
      const std::vector<Tensor> inputs = {x};
      std::vector<Tensor> y, direct;
      const std::string notes = NotesOf(graph, inputs, WinogradUse::kAlways, 1, &y);
      NotesOf(graph, inputs, WinogradUse::kNever, 1, &direct);
      EXPECT_TRUE(absl::StrContains(notes, "wino"));
      ASSERT_EQ(y.size(), 1u);
      int finite = 0;
      for (int64_t i = 0; i < y[0].size(); ++i) {
        const float a = y[0].data<float>()[i], b = direct[0].data<float>()[i];
        EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << value << " at " << at;
        finite += std::isfinite(a);
      }
      EXPECT_GE(finite, 16 * (64 - 9));
      NotesOf(graph, plain, WinogradUse::kAlways, 1, &y);  // and back
    }
  }
}

TEST(Winograd, TheLargestInputOverflowsNowhere) {
  if (!HasWinograd()) GTEST_SKIP() << "no AVX-512";
  for (const Case& c : {Case{1, 16, 16, 8, 8, "[1,1,1,1]"}, Case{5, 16, 16, 8, 8, "[1,1,1,1]"}}) {
    const Graph graph = GraphWithWeights(Convolution(c));
    std::vector<float> weights;
    for (const NodePtr& node : graph.nodes()) {
      if (!node->has_payload() || node->payload().type().rank() != 4) continue;
      const auto values = node->payload().data<float>();
      weights.assign(values.begin(), values.end());
    }
    const float largest = cpu::LargestWinogradInput(weights, c.out);
    ASSERT_GT(largest, 1e30f);
    Tensor x = RandomInputs(graph)[0];
    // Signs as in the rows of the transform, whose sums are largest then.
    const float signs[] = {1, -1, -1, 1, 1, -1, 1, -1};
    for (int64_t i = 0; i < x.size(); ++i) {
      x.mutable_data<float>()[i] = largest * signs[i % 8] * signs[i / 8 % 8];
    }
    EXPECT_TRUE(absl::StrContains(Check(graph, {x}), "wino"));
  }
}

TEST(Winograd, WeightsThatAreNotFiniteGoToTheDirectConvolution) {
  EXPECT_EQ(cpu::LargestWinogradInput({1, kInf, 2, 3}, 2), 0);
  EXPECT_EQ(cpu::LargestWinogradInput({1, 2, kNaN, 3}, 2), 0);
  EXPECT_GT(cpu::LargestWinogradInput({1, 2, 3, 4}, 2),
            cpu::LargestWinogradInput({1, 2, 30, 4}, 2));
}

// With one size of each kind that was measured (winograd.cc).
TEST(Winograd, IsTakenWhereItIsFaster) {
  using cpu::IsFasterByWinograd;
  const std::string small = "jit_fp32_wino_2x3:avx512_core", large = "jit_wino_4x3:avx512_core";
  EXPECT_TRUE(IsFasterByWinograd({1, 64, 64, 56, 56}, small, 1, false));
  EXPECT_TRUE(IsFasterByWinograd({1, 256, 256, 14, 14}, small, 1, false));
  EXPECT_FALSE(IsFasterByWinograd({1, 144, 144, 13, 13}, small, 1, false));
  EXPECT_FALSE(IsFasterByWinograd({1, 16, 16, 112, 112}, small, 1, false));
  EXPECT_TRUE(IsFasterByWinograd({1, 128, 128, 28, 28}, large, 1, false));
  EXPECT_FALSE(IsFasterByWinograd({1, 640, 640, 17, 17}, large, 1, false));
  EXPECT_FALSE(IsFasterByWinograd({1, 32, 64, 147, 147}, large, 1, false));
  EXPECT_TRUE(IsFasterByWinograd({1, 144, 144, 14, 14}, small, 2, false));
  EXPECT_TRUE(IsFasterByWinograd({1, 32, 128, 27, 27}, small, 2, false));
  EXPECT_FALSE(IsFasterByWinograd({1, 16, 64, 55, 55}, small, 2, false));
  EXPECT_FALSE(IsFasterByWinograd({1, 256, 64, 13, 13}, small, 2, false));
  EXPECT_FALSE(IsFasterByWinograd({1, 32, 32, 112, 112}, small, 2, false));
  EXPECT_TRUE(IsFasterByWinograd({2, 64, 256, 14, 14}, large, 2, false));
  EXPECT_FALSE(IsFasterByWinograd({2, 256, 48, 17, 17}, large, 2, false));
  EXPECT_FALSE(IsFasterByWinograd({1, 64, 64, 28, 28}, small, 4, false));
  // On Intel's processors, other limits for small tiles.
  EXPECT_TRUE(IsFasterByWinograd({1, 96, 32, 128, 128}, small, 1, false));
  EXPECT_FALSE(IsFasterByWinograd({1, 96, 32, 128, 128}, small, 1, true));
  EXPECT_FALSE(IsFasterByWinograd({1, 16, 224, 38, 38}, small, 1, true));
  EXPECT_TRUE(IsFasterByWinograd({1, 48, 128, 112, 112}, small, 1, true));
  EXPECT_FALSE(IsFasterByWinograd({1, 48, 128, 112, 112}, small, 2, true));
  EXPECT_TRUE(IsFasterByWinograd({1, 512, 512, 13, 13}, small, 1, true));
  EXPECT_FALSE(IsFasterByWinograd({1, 512, 512, 7, 7}, small, 1, true));
  EXPECT_FALSE(IsFasterByWinograd({1, 768, 224, 13, 13}, small, 1, true));
  EXPECT_TRUE(IsFasterByWinograd({1, 128, 128, 64, 64}, small, 1, true));
  EXPECT_FALSE(IsFasterByWinograd({1, 256, 80, 35, 35}, small, 1, true));
  EXPECT_TRUE(IsFasterByWinograd({1, 256, 80, 35, 35}, small, 2, true));
  EXPECT_TRUE(IsFasterByWinograd({1, 128, 128, 28, 28}, large, 1, true));
  if (!HasWinograd()) GTEST_SKIP() << "no AVX-512";
  const Graph graph = GraphWithWeights(Convolution({1, 64, 64, 56, 56, "[1,1,1,1]"}));
  std::vector<Tensor> y;
  for (WinogradUse use : {WinogradUse::kWhereFaster, WinogradUse::kNever}) {
    const std::string notes = NotesOf(graph, RandomInputs(graph), use, 1, &y);
    EXPECT_EQ(absl::StrContains(notes, "wino"), use == WinogradUse::kWhereFaster) << notes;
  }
}

}  // namespace
}  // namespace lemma
