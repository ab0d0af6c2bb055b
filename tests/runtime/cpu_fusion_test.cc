// The CPU back end fuses and places values as expected, and its results stay right.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

// With AVX2 and no more, oneDNN has no fast code for a sum behind a scale.
TEST(CpuFusion, ConvolutionTakesNormResidualAndActivation) {
  const char* kernels = __builtin_cpu_supports("avx512f")
                            ? "relu copy conv2d+batch_norm+add+relu copy"
                            : "relu copy conv2d+batch_norm add+relu";
  EXPECT_EQ(CheckedKernelsOf(R"(graph g(x: f32[1,5,7,6], w: weight f32[5,5,3,3], s: weight f32[5],
      b: weight f32[5], m: weight f32[5], v: weight f32[5] = [0.5, 1.0, 2.0, 0.25, 1.5]) {
    a = relu(x)
    c = conv2d(a, w) {pads = [1,1,1,1]}
    n = batch_norm(c, s, b, m, v)
    r = add(n, a)
    y = relu(r)
    return y
  })"),
            kernels);
}

TEST(CpuFusion, PixelwiseConvolutionAddsItsOwnInput) {
  EXPECT_EQ(CheckedKernelsOf(R"(graph g(x: f32[2,7,5,3], w: weight f32[7,7,1,1], b: weight f32[7]) {
    a = tanh(x)
    c = conv2d(a, w, b)
    y = add(a, c)
    return y
  })"),
            "tanh copy conv2d+add copy");
}

// f(0) is not 0, so errors in channels padded to a multiple of 16 would show.
TEST(CpuFusion, OddChannelsWithShiftedActivations) {
  for (const char* f : {"sigmoid", "gelu", "silu", "hard_swish", "elu", "tanh"}) {
    EXPECT_EQ(CheckedKernelsOf(absl::StrCat(R"(graph g(x: f32[1,3,9,9], w: weight f32[17,3,3,3],
        u: weight f32[5,17,3,3]) {
      a = conv2d(x, w) {strides = [2,2]}
      b = )",
                                            f, R"((a)
      c = conv2d(b, u)
      return c
    })")),
              absl::StrCat("copy conv2d+", f, " conv2d copy"))
        << f;
  }
}

TEST(CpuFusion, SwishInTwoOperators) {
  EXPECT_EQ(CheckedKernelsOf(R"(graph g(x: f32[4,6], w: weight f32[6,9]) {
    a = matmul(x, w)
    s = sigmoid(a)
    y = mul(a, s)
    return y
  })"),
            "matmul+sigmoid+mul");
}

// An application is fused for what it computes, whatever its operator is called.
TEST(CpuFusion, ActivationsAreRecognizedByTheirDefinitions) {
  struct Case {
    const char* application;
    const char* kernels;
  };
  const Case cases[] = {
      {"max(a, c)", "matmul+max"},      // of a and 0.25
      {"min(c, a)", "matmul+min"},      // the known number may stand first
      {"prelu(a, c)", "matmul+prelu"},  // a slope for all channels
      {"clip(a) {max = 0.5}", "matmul+clip"},
      {"div(a, c)", "matmul+div"},  // 1 / 0.25 is exact
      {"div(c, a)", "matmul div"},  // no multiple of a
      {"add(a, c)", "matmul add"},  // oneDNN has no such function with one number
      {"max(a, v)", "matmul max"},  // the number differs by channel
      {"thresholded_relu(a)", "matmul thresholded_relu"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(CheckedKernelsOf(
                  absl::StrCat(R"(graph g(x: f32[4,6], w: weight f32[6,9], v: weight f32[9]) {
      c = constant f32[] fill 0.25
      a = matmul(x, w)
      y = )",
                               c.application, "\nreturn y }")),
              c.kernels)
        << c.application;
  }
}

// A graph of three parts: `head`, with the result a0; `count` times `line`, where $0 is the result
// and $1 the result before; and `tail`, where $0 is the last result.
std::string Chain(absl::string_view inputs, absl::string_view head, absl::string_view line,
                  int count, absl::string_view tail = "return $0") {
  std::string text = absl::StrCat("graph g(", inputs, ") {\n", head, "\n");
  std::string before = "a0";
  for (int i = 1; i <= count; ++i) {
    const std::string now = absl::StrCat("a", i);
    absl::StrAppend(&text, absl::Substitute(line, now, before), "\n");
    before = now;
  }
  return absl::StrCat(text, absl::Substitute(tail, before), "\n}");
}

constexpr char kMove[] = "$0 = scalar_mul($1) {alpha = -1.03}";
constexpr char kConvolved[] = "x: f32[1,5,4,4], w: weight f32[5,5,3,3]";
constexpr char kConvolve[] = "a0 = conv2d(x, w) {pads = [1,1,1,1]}";

// The name of a kernel of `head`, which may be "", and `count` times `op`.
std::string Fused(absl::string_view head, absl::string_view op, int count) {
  std::string name(head);
  for (int i = 0; i < count; ++i) absl::StrAppend(&name, name.empty() ? "" : "+", op);
  return name;
}

// oneDNN takes 32 operators behind one kernel.
TEST(CpuFusion, LongChainsBehindAConvolution) {
  for (int more : {0, 1, 3, 28}) {
    std::string expected = absl::StrCat("copy ", Fused("conv2d", "scalar_mul", 32));
    if (more > 24) absl::StrAppend(&expected, " ", Fused("", "scalar_mul", more - 24));
    if (more > 0) absl::StrAppend(&expected, " ", Fused("", "scalar_mul", std::min(more, 24)));
    if (more == 0) absl::StrAppend(&expected, " copy");
    EXPECT_EQ(CheckedKernelsOf(Chain(kConvolved, kConvolve, kMove, 32 + more)), expected) << more;
  }
}

TEST(CpuFusion, LongChainsBehindAMatrixProduct) {
  EXPECT_EQ(
      CheckedKernelsOf(Chain("x: f32[4,6], w: weight f32[6,9]", "a0 = matmul(x, w)", kMove, 60)),
      absl::StrCat(Fused("matmul", "scalar_mul", 32), " ", Fused("", "scalar_mul", 4), " ",
                   Fused("", "scalar_mul", 24)));
  EXPECT_EQ(CheckedKernelsOf(Chain("x: f32[4,6], w: weight f32[6,9], b: weight f32[9]",
                                   "p = matmul(x, w) a0 = add(p, b)", kMove, 32)),
            absl::StrCat("matmul+add+", Fused("", "scalar_mul", 31), " scalar_mul"));
}

TEST(CpuFusion, LongChainsBehindOtherHeads) {
  for (const char* head : {"a0 = conv2d(x, w)", "a0 = conv2d(x, w) {strides = [2,2]}",
                           "a0 = conv_transpose2d(x, w) {strides = [2,2]}"}) {
    EXPECT_NE(CheckedKernelsOf(Chain("x: f32[1,5,4,4], w: weight f32[5,5,1,1]", head, kMove, 60)),
              "")
        << head;
  }
}

// Each function has code of another length.
TEST(CpuFusion, LongChainsOfEveryActivation) {
  for (const char* f : {"relu", "sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "hard_swish"}) {
    const std::string line = absl::StrCat("s$0 = scalar_mul($1) {alpha = 2.5}\n$0 = ", f, "(s$0)");
    EXPECT_NE(CheckedKernelsOf(Chain(kConvolved, kConvolve, line, 30)), "") << f;
    EXPECT_NE(
        CheckedKernelsOf(Chain("x: f32[4,6], w: weight f32[6,9]", "a0 = matmul(x, w)", line, 30)),
        "")
        << f;
  }
}

TEST(CpuFusion, LongChainsOfSwishInTwoOperators) {
  EXPECT_NE(
      CheckedKernelsOf(Chain(kConvolved, kConvolve, "s$0 = sigmoid($1)\n$0 = mul($1, s$0)", 40)),
      "");
}

// Each takes two of the 32 places.
TEST(CpuFusion, LongChainsOfNorms) {
  const std::string inputs = absl::StrCat(kConvolved,
                                          ", s: weight f32[5], b: weight f32[5], m: weight f32[5], "
                                          "v: weight f32[5] = [0.5, 1.0, 2.0, 0.25, 1.5]");
  const std::string kernels =
      CheckedKernelsOf(Chain(inputs, kConvolve, "$0 = batch_norm($1, s, b, m, v)", 20));
  EXPECT_EQ(kernels.find(Fused("conv2d", "batch_norm", 17)), std::string::npos) << kernels;
  EXPECT_NE(kernels.find(Fused("conv2d", "batch_norm", 16)), std::string::npos) << kernels;
}

TEST(CpuFusion, LongChainsOfResidualsAndBiases) {
  EXPECT_NE(CheckedKernelsOf(Chain(kConvolved, kConvolve, "$0 = add($1, x)", 60)), "");
  EXPECT_NE(CheckedKernelsOf(Chain(kConvolved + std::string(", b: weight f32[5,1,1]"), kConvolve,
                                   "r$0 = relu($1)\n$0 = add(r$0, b)", 40)),
            "");
  EXPECT_NE(CheckedKernelsOf(Chain("x: f32[4,6], w: weight f32[6,6]", "a0 = matmul(x, w)",
                                   "h$0 = scalar_mul($1) {alpha = 0.5}\n$0 = add(h$0, x)", 30)),
            "");
}

// If shared operands were written out, these would be 2^60 terms.
TEST(CpuFusion, ChainsOfSharedOperands) {
  const char* line = "t$0 = mul($1, $1)\n$0 = sqrt(t$0)";
  EXPECT_NE(CheckedKernelsOf(Chain("x: f32[4,6]", "a0 = sigmoid(x)", line, 60)), "");
  EXPECT_EQ(CheckedKernelsOf(Chain("x: f32[4,6], w: weight f32[6,6], c: weight f32[4,6]",
                                   "a0 = sigmoid(c)", line, 60,
                                   "p = matmul(x, w)\ny = add(p, $0)\nreturn y")),
            "matmul add");
}

TEST(CpuFusion, ElementwiseChainsAreOneKernel) {
  EXPECT_EQ(CheckedKernelsOf(R"(graph g(x: f32[3,40], b: f32[40], c: f32[3,1]) {
    p = mul(x, b)
    q = exp(p)
    r = add(q, x)
    y = div(r, c)
    return y
  })"),
            "mul+exp+add+div");
}

TEST(CpuFusion, AnInnerOutputIsKept) {
  EXPECT_EQ(CheckedKernelsOf(R"(graph g(x: f32[3,4], w: weight f32[4,4]) {
    a = matmul(x, w)
    b = relu(a)
    return a, b
  })"),
            "matmul relu");
}

TEST(CpuFusion, ConcatenationIsWrittenInPlace) {
  EXPECT_EQ(
      CheckedKernelsOf(R"(graph g(x: f32[1,6,5,5], w: weight f32[4,6,1,1], u: weight f32[3,6,1,1],
      v: weight f32[2,7,3,3]) {
    a = conv2d(x, w)
    b = conv2d(x, u)
    c = concat(a, b) {axis = 1}
    y = conv2d(c, v)
    return y
  })"),
      "copy conv2d conv2d conv2d copy");
}

TEST(CpuFusion, DenseBlocksShareOneBuffer) {
  const std::string kernels = CheckedKernelsOf(R"(graph g(x: f32[1,4,5,5], w: weight f32[3,4,3,3],
      u: weight f32[2,7,3,3]) {
    a = relu(x)
    b = conv2d(a, w) {pads = [1,1,1,1]}
    c = concat(a, b) {axis = 1}
    d = sigmoid(c)
    e = conv2d(d, u) {pads = [1,1,1,1]}
    f = concat(a, b, e) {axis = 1}
    y = exp(f)
    return c, y
  })");
  EXPECT_NE(kernels, "");
}

TEST(CpuFusion, ConcatenationOfARepeatedValueAndAConstant) {
  EXPECT_NE(CheckedKernelsOf(R"(graph g(x: f32[2,3], c: weight f32[2,1]) {
    a = exp(x)
    b = concat(a, c, a) {axis = 1}
    d = concat(b, b) {axis = 0}
    return d, b
  })"),
            "");
}

TEST(CpuFusion, AttentionReadsTransposedOperands) {
  EXPECT_EQ(CheckedKernelsOf(R"(graph g(x: f32[1,6,8], q: weight f32[8,8], k: weight f32[8,8],
      v: weight f32[8,8], o: weight f32[8,8]) {
    a = matmul(x, q)
    b = matmul(x, k)
    c = matmul(x, v)
    a4 = reshape(a) {shape = [1,6,2,4]}
    b4 = reshape(b) {shape = [1,6,2,4]}
    c4 = reshape(c) {shape = [1,6,2,4]}
    at = transpose(a4) {perm = [0,2,1,3]}
    bt = transpose(b4) {perm = [0,2,3,1]}
    ct = transpose(c4) {perm = [0,2,1,3]}
    s = matmul(at, bt)
    p = softmax(s)
    z = matmul(p, ct)
    zt = transpose(z) {perm = [0,2,1,3]}
    z3 = reshape(zt) {shape = [1,6,8]}
    y = matmul(z3, o)
    return y
  })"),
            "matmul matmul matmul softmax matmul matmul matmul");
}

TEST(CpuFusion, SoftmaxAlongAnyAxisIsNoReferenceCode) {
  for (int axis = 0; axis < 4; ++axis) {
    const Graph graph = GraphWithWeights(absl::StrCat(
        "graph g(x: f32[3,20,5,7]) { a = neg(x) y = softmax(a) {axis = ", axis, "} return y }"));
    const std::vector<Tensor> inputs = RandomInputs(graph);
    auto executable = ExpectCpuMatchesReference(graph, inputs);
    std::vector<KernelTiming> timings;
    ASSERT_TRUE(executable->RunTimed(inputs, &timings).ok());
    int softmax = 0;
    for (const KernelTiming& timing : timings) {
      softmax += timing.kernel == "softmax" ? 1 : 0;
      EXPECT_NE(timing.note.substr(0, 3), "ref") << "axis " << axis << ": " << timing.kernel;
    }
    EXPECT_EQ(softmax, 1) << axis;
  }
}

// A mask is added in the kernel of the softmax, for each way in which it can be broadcast over
// rows.
TEST(CpuFusion, SoftmaxOfASumIsOneKernel) {
  for (const char* mask :
       {"2,3,5,20", "1,1,5,20", "2,1,1,20", "1,3,1,20", "1,3,5,20", "2,1,5,20", "1,1,1,20"}) {
    for (const char* sum : {"add(p, m)", "add(m, p)"}) {
      const Graph graph = GraphWithWeights(absl::Substitute(
          "graph g(x: f32[2,3,5,8], z: f32[2,3,8,20], m: f32[$0]) { p = matmul(x, z) s = $1\n"
          "y = softmax(s) {axis = 3} return y }",
          mask, sum));
      for (const int threads : {1, 2}) {
        const std::vector<Tensor> inputs = RandomInputs(graph);
        auto executable = ExpectCpuMatchesReference(graph, inputs, threads);
        EXPECT_EQ(KernelsOf(*executable, inputs),
                  __builtin_cpu_supports("avx512f") ? "matmul add+softmax" : "matmul+add softmax")
            << mask << " " << sum;
      }
    }
  }
}

// Masks of lower rank, views with other strides, constants, and sums that another kernel computes.
TEST(CpuFusion, SoftmaxOfOtherSums) {
  struct Case {
    const char* body;
    const char* kernels;  // with AVX-512
  };
  const Case cases[] = {
      {"s = add(t, v) y = softmax(s) return y", "neg add+softmax"},
      {"k = transpose(c) {perm = [0,2,1]} s = add(t, k) y = softmax(s) return y",
       "neg copy add+softmax"},
      {"k = slice(d) {starts = [0,1,0], sizes = [3,5,20]} s = add(t, k) y = softmax(s) return y",
       "neg add+softmax"},
      {"k = slice(d) {starts = [0,1,0], sizes = [3,5,20]} s = add(k, t) y = softmax(s) return y",
       "neg add+softmax"},
      {"s = add(t, w) y = softmax(s) return y", "neg add+softmax"},
      {"s = add(x, w) y = softmax(s) return y", "add+softmax"},
      {"s = add(t, c1) y = softmax(s) return y", "neg+add softmax"},  // one number for a row
      {"s = add(t, t) y = softmax(s) return y", "neg+add softmax"},
      {"s = add(t, v) y = softmax(s) return y, s", "neg+add softmax"},
      {"s = add(t, v) u = exp(s) q = softmax(s) y = add(q, u) return y", "neg+add softmax exp+add"},
      {"s = sub(t, v) y = softmax(s) return y", "neg+sub softmax"},
      {"s = add(t, w) y = softmax(s) {axis = 1} return y", "neg+add copy softmax copy"},
      {"s = add(e, w1) y = softmax(s) return y", "add softmax"},  // rows of no operand
  };
  for (const Case& c : cases) {
    const std::string text = absl::StrCat(
        "graph g(x: f32[3,5,20], v: f32[20], c: f32[3,20,5], d: f32[3,7,20], c1: f32[3,5,1],\n"
        "e: f32[1,5,20], w: weight f32[3,5,20], w1: weight f32[3,1,20]) { t = neg(x) ",
        c.body, " }");
    const std::string kernels = CheckedKernelsOf(text);
    if (__builtin_cpu_supports("avx512f")) {
      EXPECT_EQ(kernels, c.kernels) << c.body;
    }
  }
}

TEST(CpuFusion, ChannelShuffleCopiesOnce) {
  EXPECT_EQ(
      CheckedKernelsOf(R"(graph g(x: f32[1,6,5,5], w: weight f32[6,6,3,3], u: weight f32[6,6,3,3]) {
    a = conv2d(x, w)
    g5 = reshape(a) {shape = [1,2,3,3,3]}
    t = transpose(g5) {perm = [0,2,1,3,4]}
    s = reshape(t) {shape = [1,6,3,3]}
    y = conv2d(s, u)
    return y
  })"),
      "copy conv2d copy conv2d");
}

// Every second row and column becomes an image of a batch, and the results are put together again:
// one copy before, and one to the output.
TEST(CpuFusion, CopiesGoWhereTheyAreWanted) {
  EXPECT_EQ(CheckedKernelsOf(R"(graph g(x: f32[1,3,4,6], w: weight f32[5,3,3,3]) {
    a = reshape(x) {shape = [1,3,2,2,3,2]}
    b = transpose(a) {perm = [5,3,0,1,2,4]}
    c = reshape(b) {shape = [4,3,2,3]}
    d = conv2d(c, w) {pads = [1,1,1,1]}
    e = reshape(d) {shape = [2,2,1,5,2,3]}
    f = transpose(e) {perm = [2,3,4,0,5,1]}
    y = reshape(f) {shape = [1,5,4,6]}
    return y
  })"),
            "copy conv2d copy");
}

// Blocks of rows become a batch.
TEST(CpuFusion, ConcatenatedInputsGoStraightToTheirLayout) {
  EXPECT_EQ(CheckedKernelsOf(R"(graph g(x: f32[1,3,6,5], w: weight f32[5,3,3,3]) {
    a = slice(x) {starts = [0,0,0,0], sizes = [1,3,4,5]}
    b = slice(x) {starts = [0,0,2,0], sizes = [1,3,4,5]}
    c = concat(a, b) {axis = 0}
    d = conv2d(c, w)
    y = relu(d)
    return y
  })"),
            "copy copy conv2d+relu copy");
}

TEST(CpuFusion, SplitsAndSlicesAreViews) {
  EXPECT_EQ(CheckedKernelsOf(R"(graph g(x: f32[4,12], w: weight f32[4,3]) {
    e = exp(x)
    a, b = split(e) {axis = 1, sizes = [4, 8]}
    c = slice(b) {starts = [0,1], sizes = [4,3], steps = [1,2]}
    p = matmul(a, w)
    y = add(p, c)
    return y
  })"),
            "exp copy matmul+add");
}

TEST(CpuFusion, EverySecondColumnOfOddRowsIsCopied) {
  EXPECT_EQ(CheckedKernelsOf(
                R"(graph g(x: f32[1,16,4,15], w: weight f32[16,16,3,3], u: weight f32[16,16,1,1]) {
    a = conv2d(x, w)
    s = slice(a) {starts = [0,0,0,0], sizes = [1,16,2,7], steps = [1,1,1,2]}
    y = conv2d(s, u)
    return y
  })"),
            "copy conv2d copy conv2d copy");
}

// The kernels of a graph if layout operators are not fused. CheckedKernelsOf expects their results
// to be right.
std::string KernelsApart(absl::string_view text) {
  const Graph graph = GraphWithWeights(text);
  auto executable = MakeCpuBackend({/*fuse_layout=*/false})->Compile(graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  return executable.ok() ? KernelsOf(**executable, RandomInputs(graph)) : "";
}

TEST(CpuFusion, WithoutItEveryLayoutOperatorIsAKernel) {
  constexpr char kAttention[] = R"(graph g(x: f32[1,6,8], k: weight f32[8,8]) {
    a = matmul(x, k)
    a4 = reshape(a) {shape = [1,6,2,4]}
    t = transpose(a4) {perm = [0,2,1,3]}
    i = transpose(t) {perm = [0,1,2,3]}
    r = relu(i)
    b, c = split(r) {axis = 3, sizes = [1, 3]}
    d = concat(c, b, c) {axis = 3}
    return d
  })";
  EXPECT_EQ(CheckedKernelsOf(kAttention), "matmul relu copy copy copy copy");
  EXPECT_EQ(KernelsApart(kAttention), "matmul reshape transpose relu split concat");
}

// Layout operators behind a convolution keep its channels last, except reshapes.
TEST(CpuFusion, WithoutItConcatenationsAreNotWrittenInPlace) {
  constexpr char kSiblings[] = R"(graph g(x: f32[1,6,5,5], w: weight f32[4,6,1,1],
      u: weight f32[3,6,1,1], v: weight f32[2,7,3,3]) {
    a = conv2d(x, w)
    b = conv2d(x, u)
    c = concat(a, b) {axis = 1}
    y = conv2d(c, v)
    f = reshape(y) {shape = [2,9]}
    return f
  })";
  EXPECT_EQ(CheckedKernelsOf(kSiblings), "copy conv2d conv2d conv2d copy");
  EXPECT_EQ(KernelsApart(kSiblings), "copy conv2d conv2d concat conv2d reshape");
}

TEST(CpuFusion, InputsAndWeightsAsOutputs) {
  EXPECT_EQ(CheckedKernelsOf(R"(graph g(x: f32[2,3], w: weight f32[3]) {
    y = relu(x)
    return x, w, y
  })"),
            "relu copy copy");
}

}  // namespace
}  // namespace lemma
