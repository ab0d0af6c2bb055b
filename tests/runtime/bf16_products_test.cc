// Products of bf16 numbers: where the CPU back end takes them, and what must not be taken.
#include "runtime/cpu/kernels/bf16_products.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "runtime/cpu/kernels/bf16_speed.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

// How many kernels multiply bf16 numbers. Compares the outputs with the reference.
int Bf16Kernels(const std::string& text) {
  const Graph graph = GraphWithWeights(text);
  const std::vector<Tensor> inputs = RandomInputs(graph);
  auto executable = ExpectCpuMatchesReference(graph, inputs);
  std::vector<KernelTiming> timings;
  EXPECT_TRUE(executable != nullptr && executable->RunTimed(inputs, &timings).ok());
  int count = 0;
  for (const KernelTiming& t : timings) {  // they widen their operands themselves
    const bool is_product =
        absl::StrContains(t.kernel, "matmul") || absl::StrContains(t.kernel, "conv2d");
    count += is_product && absl::StartsWith(t.kernel, "cast+") ? 1 : 0;
  }
  return count;
}

void ExpectKernels(int expected, const std::string& text) {
  const int kernels = Bf16Kernels(text);
  // Elsewhere the number depends on the sizes.
  if (cpu::PrefersBf16Products()) {
    EXPECT_EQ(kernels, expected) << text;
  } else if (!cpu::HasBf16Products()) {
    EXPECT_EQ(kernels, 0) << text;
  }
}

// `a` and `b` are x and w, rounded to bf16; `lines` follow.
std::string Rounded(const std::string& inputs, const std::string& lines) {
  return absl::StrCat("graph g(", inputs, R"() {
    h = cast(x) {dtype = "bf16"} a = cast(h) {dtype = "f32"} b = cast(w) {dtype = "f32"}
    )",
                      lines, "\n}");
}
constexpr char kMatrices[] = "x: f32[6,16], w: weight bf16[16,24], v: weight f32[16,24]";

TEST(Bf16Products, AreTakenWhereBothFactorsAre) {
  ExpectKernels(1, Rounded(kMatrices, "y = matmul(a, b) return y"));
  ExpectKernels(0, Rounded(kMatrices, "y = matmul(x, b) return y"));
  ExpectKernels(0, Rounded(kMatrices, "y = matmul(a, v) return y"));
  // Its numbers are not known.
  ExpectKernels(0, Rounded("x: f32[6,16], w: bf16[16,24]", "y = matmul(a, b) return y"));
  ExpectKernels(0,
                "graph g(x: f16[6,16], w: weight bf16[16,24]) { a = cast(x) {dtype = \"f32\"} "
                "b = cast(w) {dtype = \"f32\"} y = matmul(a, b) return y }");
}

// A product of few rows waits for its weights. Others multiply bf16 numbers where that is fast.
TEST(Bf16Products, AreTakenWhereTheyGain) {
  const int always = cpu::HasBf16Products() ? 1 : 0, if_fast = cpu::PrefersBf16Products() ? 1 : 0;
  for (const auto& [rows, expected] : {std::pair(8, always), {9, if_fast}}) {
    EXPECT_EQ(Bf16Kernels(Rounded(absl::StrCat("x: f32[", rows, ",16], w: weight bf16[16,24]"),
                                  "y = matmul(a, b) return y")),
              expected);
    // Values that are bf16 themselves.
    EXPECT_EQ(
        Bf16Kernels(absl::StrCat("graph g(x: bf16[", rows,
                                 ",16], w: weight bf16[16,24]) { y = matmul(x, w) return y }")),
        expected);
  }
  for (const auto& [channels, expected] : {std::pair(3, 0), {4, if_fast}}) {
    EXPECT_EQ(Bf16Kernels(
                  Rounded(absl::Substitute("x: f32[1,$0,5,5], w: weight bf16[4,$0,3,3]", channels),
                          "y = conv2d(a, b) return y")),
              expected);
  }
}

TEST(Bf16Products, AreMeasuredAsTheProcessorIs) {
  const double speedup = cpu::Bf16Speedup();
  if (!cpu::HasBf16Products()) GTEST_SKIP() << "no instructions for bf16";
  // No processor's ratio is beyond these, unless the measurement counts wrongly.
  EXPECT_GT(speedup, 0.2);
  EXPECT_LT(speedup, 5);
  EXPECT_EQ(cpu::Bf16Speedup(), speedup);
}

// A constant that holds only bf16 numbers counts, also behind operators that move it.
TEST(Bf16Products, KnowConstants) {
  constexpr char kConstant[] =
      "x: f32[2,4], w: weight bf16[1], c: weight f32[3,4] = [1.0, 0.5, -2.0, 0.0, 3.0, 1.5, "
      "-0.25, 8.0, 1.0, 1.0, 1.0, 1.0]";
  ExpectKernels(1, Rounded(kConstant, "t = transpose(c) {perm = [1,0]} y = matmul(a, t) return y"));
  ExpectKernels(
      1, Rounded(kConstant,
                 "t = transpose(c) {perm = [1,0]} s = concat(t, t) {axis = 1} y = matmul(a, s) "
                 "return y"));
  ExpectKernels(1, Rounded("x: f32[2,4], w: weight bf16[1], c: weight f32[4,3]",
                           "g = cast(c) {dtype = \"bf16\"} k = cast(g) {dtype = \"f32\"} "
                           "y = matmul(a, k) return y"));
  // 0.1 is no bf16 number; the instructions take 1e-39 as 0; 1e35 could make that matter.
  for (const char* number : {"0.1", "1e-39", "1e35"}) {
    ExpectKernels(0, absl::StrCat("graph g(x: f32[2,4], c: weight f32[4,1] = [1.0, 0.5, ", number,
                                  ", 2.0]) { h = cast(x) {dtype = \"bf16\"} a = cast(h) {dtype = "
                                  "\"f32\"} y = matmul(a, c) return y }"));
  }
}

// Tiny values times huge ones: what the instructions lose would be seen.
TEST(Bf16Products, KeepSubnormalNumbersTimesHugeOnes) {
  const std::string product = "y = matmul(a, b) return y";
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {1, 2}}, {1e-39, 2e-39});
  const Tensor w = *Tensor::FromDoubles({DType::kBF16, {2, 1}}, {1e38, 1e38});
  ExpectCpuMatchesReference(
      GraphWithWeights(Rounded("x: f32[1,2], w: weight bf16[2,1] = [1e38, 1e38]", product)), {x});
  ExpectCpuMatchesReference(GraphWithWeights(Rounded("x: f32[1,2], w: bf16[2,1]", product)),
                            {x, w});
}

// Plans take linear time for constants that are moved many times.
TEST(Bf16Products, PlansOfLongChainsOfConstantsAreQuick) {
  std::string chain =
      "c0 = concat(b, b) {axis = 0} d0 = slice(c0) {starts = [0,0], sizes = [16,4], "
      "steps = [1,1]}";
  for (int i = 1; i < 60; ++i) {
    absl::StrAppend(&chain, " c", i, " = concat(d", i - 1, ", d", i - 1, ") {axis = 0} d", i,
                    " = slice(c", i, ") {starts = [0,0], sizes = [16,4], steps = [1,1]}");
  }
  ExpectKernels(1, Rounded("x: f32[2,16], w: weight bf16[16,4]",
                           absl::StrCat(chain, " y = matmul(a, d59) return y")));
}

TEST(Bf16Products, RoundTheirResultUnlessTheyAddATensor) {
  constexpr char kSquare[] = "x: f32[6,16], w: weight bf16[16,16], r: f32[6,16]";
  constexpr char kAgain[] = R"(g = cast(q) {dtype = "bf16"} k = cast(g) {dtype = "f32"}
      y = matmul(k, b) return y)";
  ExpectKernels(2, Rounded(kSquare, absl::StrCat("p = matmul(a, b) q = relu(p) ", kAgain)));
  ExpectKernels(2, Rounded(kSquare, absl::StrCat("p = matmul(a, b) q = add(p, r) ", kAgain)));
  ExpectKernels(2, Rounded(kSquare, absl::StrCat("p = matmul(a, b) q = add(p, p) ", kAgain)));
}

// The rounded value is read as f32 too: by another product, element by element, as an output.
TEST(Bf16Products, LeaveTheirOperandsToOthers) {
  constexpr char kBoth[] = "x: f32[6,16], w: weight bf16[16,16], v: weight f32[16,16]";
  ExpectKernels(1, Rounded(kBoth, "y = matmul(a, b) z = matmul(a, v) return y, z"));
  ExpectKernels(1, Rounded(kBoth, "y = matmul(a, b) z = exp(a) return y, z"));
  ExpectKernels(1, Rounded(kBoth, "y = matmul(a, b) return y, a"));
  ExpectKernels(1, Rounded(kBoth, "y = matmul(a, b) return y, h"));
  ExpectKernels(0, Rounded(kBoth, "p = matmul(a, b) y = add(p, a) return y"));
  ExpectKernels(0, Rounded("x: f32[8,8], w: bf16[1]", "y = matmul(a, a) return y"));
}

// Roundings move in front of reshapes and transposes, and widenings behind them.
TEST(Bf16Products, ReadWhatWasMoved) {
  ExpectKernels(1, R"(graph g(x: bf16[1,6,16], w: weight bf16[16,16]) {
    a = cast(x) {dtype = "f32"} b = cast(w) {dtype = "f32"} p = matmul(a, b)
    s = reshape(p) {shape = [1,6,2,8]} t = transpose(s) {perm = [0,2,1,3]}
    h = cast(t) {dtype = "bf16"} k = cast(h) {dtype = "f32"}
    u = transpose(k) {perm = [0,1,3,2]} y = matmul(k, u) return y
  })");
  ExpectKernels(1, R"(graph g(x: bf16[6,16], z: bf16[6,16], w: weight bf16[32,8]) {
    a = cast(x) {dtype = "f32"} c = cast(z) {dtype = "f32"} j = concat(a, c) {axis = 1}
    b = cast(w) {dtype = "f32"} y = matmul(j, b) return y
  })");
  ExpectKernels(1, R"(graph g(x: bf16[6,32], w: weight bf16[16,8]) {
    a = cast(x) {dtype = "f32"} l, r = split(a) {axis = 1, sizes = [16,16]}
    b = cast(w) {dtype = "f32"} y = matmul(l, b) return y, r
  })");
}

// Models whose values are bf16: each result is rounded, and bounds come in front of the rounding.
TEST(Bf16Products, ComputeModelsInBf16) {
  constexpr char kModel[] = R"(graph g(x: bf16[1,8,6,6], w: weight bf16[8,8,3,3], b: weight bf16[8],
      u: weight bf16[8,8,1,1]) {
    c = conv2d(x, w, b) {pads = [1,1,1,1]}
    r = $0
    d = conv2d(r, u)
    s = add(d, x)
    q = relu(s)
    p = max_pool2d(q) {kernel = [2,2], strides = [2,2]}
    y = conv2d(p, u)
    return $1
  })";
  for (const char* bound : {"relu(c)", "clip(c) {min = 0.0, max = 6.0}",
                            "clip(c) {min = 0.1, max = 0.7}", "sigmoid(c)", "neg(c)"}) {
    for (const char* results : {"y", "y, c", "y, r", "y, s"}) {
      ExpectKernels(3, absl::Substitute(kModel, bound, results));
    }
  }
}

// What is not a number, or has no bound, goes through bounds and roundings as defined.
TEST(Bf16Products, SpecialValuesAgree) {
  const Graph graph = GraphWithWeights(R"(graph g(x: bf16[4,2], w: bf16[2,2]) {
    p = matmul(x, w)
    r = relu(p)
    y = matmul(r, w)
    return y, r
  })");
  const double infinity = std::numeric_limits<double>::infinity();
  ExpectCpuMatchesReference(
      graph,
      {*Tensor::FromDoubles({DType::kBF16, {4, 2}}, {infinity, 1, -infinity, 1, -0.0, 0, 3e38, 1}),
       *Tensor::FromDoubles({DType::kBF16, {2, 2}}, {1, 2, 1, 1})});
}

// The instructions multiply pairs of numbers. Where the channels of a pixel have no pairs, its
// neighbor's numbers must not matter.
TEST(Bf16Products, SpecialValuesStayInTheirWindows) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const int channels : {1, 2, 3, 4, 5}) {
    const Graph graph = GraphWithWeights(absl::Substitute(
        "graph g(x: bf16[1,$0,6,6], w: weight bf16[4,$0,1,3]) { y = conv2d(x, w) return y }",
        channels));
    for (const double special : {std::nan(""), infinity}) {
      std::vector<double> values(static_cast<size_t>(channels) * 36, 0.5);
      values[3 * 6 + 3] = special;
      ExpectCpuMatchesReference(
          graph, {*Tensor::FromDoubles({DType::kBF16, {1, channels, 6, 6}}, values)});
    }
  }
}

TEST(Bf16Products, EmptyAndSingleElements) {
  for (const char* text :
       {"graph g(x: bf16[0,4], w: weight bf16[4,4]) { y = matmul(x, w) return y }",
        "graph g(x: bf16[4,1], w: weight bf16[1,4]) { y = matmul(x, w) return y }",
        "graph g(x: bf16[1,1,1,1], w: weight bf16[1,1,1,1]) { y = conv2d(x, w) "
        "return y }"}) {
    ExpectCpuMatchesReference(text);
  }
}

// ExpectCpuMatchesReference runs it without fusion of layout operators too.
TEST(Bf16Products, GiveBf16Outputs) {
  ExpectKernels(1, Rounded("x: f32[6,16], w: weight bf16[16,16]",
                           "p = matmul(a, b) q = relu(p) y = cast(q) {dtype = \"bf16\"} return y"));
}

}  // namespace
}  // namespace lemma
