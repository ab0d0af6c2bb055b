// What the CPU back end fuses and where it puts values, and that the results stay right.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

// Compares with the reference and returns the kernels run.
std::string Kernels(absl::string_view text) {
  const Graph graph = GraphOf(text);
  const std::vector<Tensor> inputs = RandomInputs(graph);
  auto executable = ExpectCpuMatchesReference(graph, inputs);
  return executable == nullptr ? "" : KernelsOf(*executable, inputs);
}

TEST(CpuFusion, ConvolutionTakesNormResidualAndActivation) {
  EXPECT_EQ(Kernels(R"(graph g(x: f32[1,5,7,6], w: weight f32[5,5,3,3], s: weight f32[5],
      b: weight f32[5], m: weight f32[5], v: weight f32[5] = [0.5, 1.0, 2.0, 0.25, 1.5]) {
    a = relu(x)
    c = conv2d(a, w) {pads = [1,1,1,1]}
    n = batch_norm(c, s, b, m, v)
    r = add(n, a)
    y = relu(r)
    return y
  })"),
            "relu copy conv2d+batch_norm+add+relu copy");
}

// A convolution of x, [2,5,9,8], and dy, both with batch and channels exchanged; its plan.
std::string ExchangedConvolution(absl::string_view dy, absl::string_view window) {
  const Graph graph = GraphOf(absl::StrCat("graph g(x: f32[2,5,9,8], dy: f32[2,7,", dy, R"(]) {
    t = relu(x)
    u = transpose(t) {perm = [1,0,2,3]}
    e = transpose(dy) {perm = [1,0,2,3]}
    p = conv2d(u, e) {)",
                                           window, R"(}
    y = transpose(p) {perm = [1,0,2,3]}
    return y
  })"));
  auto executable = ExpectCpuMatchesReference(graph, RandomInputs(graph));
  return executable == nullptr ? "" : executable->Describe();
}

// Strides of the convolution whose weights' gradient it is are its dilations, and vice versa.
TEST(CpuFusion, GradientsOfConvolutionWeights) {
  for (const auto& [dy, window] : std::vector<std::pair<const char*, const char*>>{
           {"9,8", "pads = [1,1,1,1]"},
           {"8,7", "pads = [0,1,2,1]"},
           {"5,4", "dilations = [2,2], pads = [1,1,1,0]"},
           {"7,7", "strides = [2,1], pads = [2,0,0,1]"},
           {"4,3", "dilations = [2,3], strides = [3,2], pads = [2,0,2,1]"}}) {
    EXPECT_NE(ExchangedConvolution(dy, window).find(": conv weights("), std::string::npos)
        << dy << " " << window;
  }
}

// A convolution of the first `used` rows and columns of x, of which `x` is the height and width,
// with dy, as the gradient of filters is.
std::string CutConvolution(absl::string_view x, absl::string_view start, absl::string_view used,
                           absl::string_view dy, absl::string_view window) {
  return Kernels(absl::Substitute(R"(graph g(x: f32[3,5,$0], dy: f32[3,7,$3]) {
    t = relu(x)
    d = relu(dy)
    c = slice(t) {starts = [0,0,$1], sizes = [3,5,$2]}
    u = transpose(c) {perm = [1,0,2,3]}
    e = transpose(d) {perm = [1,0,2,3]}
    p = conv2d(u, e) {$4}
    y = transpose(p) {perm = [1,0,2,3]}
    k = max_pool2d(t) {kernel = [2,2]}
    j = max_pool2d(d) {kernel = [2,2]}
    return y, k, j
  })",
                                  x, start, used, dy, window));
}

// Filters that see no pixel of the last row or column, filters of one pixel, with steps and without.
TEST(CpuFusion, GradientsOfFiltersThatDoNotReachTheEnd) {
  const std::string two = "dilations = [2,2]", uneven = "dilations = [3,2]";
  for (const std::string& kernels :
       {CutConvolution("9,8", "0,0", "9,7", "4,3", two),
        CutConvolution("9,8", "0,0", "9,7", "5,4", two),
        CutConvolution("28,28", "0,0", "27,27", "14,14", two),
        CutConvolution("27,27", "0,0", "27,27", "14,14", two),
        CutConvolution("9,8", "0,0", "7,7", "3,4", uneven),
        CutConvolution("9,8", "0,0", "8,6", "3,3", uneven + ", pads = [1,1,0,0]"),
        CutConvolution("9,8", "0,0", "9,8", "9,8", "pads = [0,0,0,0]"),
        CutConvolution("9,8", "1,1", "7,7", "4,4", two)}) {
    EXPECT_NE(kernels.find("conv2d"), std::string::npos);
  }
}

TEST(CpuFusion, BatchNormalizationOfBatches) {
  EXPECT_EQ(Kernels(R"(graph g(x: f32[3,37,5,6], s: f32[37], b: f32[37], d: f32[3,37,5,6]) {
    r = relu(x)
    y, m, v = batch_norm_training(r, s, b) {epsilon = 0.001}
    z = relu(y)
    e = mul(d, z)
    dx, ds, db = batch_norm_training_gradient(r, s, m, v, e) {epsilon = 0.001}
    return z, m, v, dx, ds, db
  })"),
            "relu copy batch_norm_training relu mul copy batch_norm_training_gradient copy");
  // One value twice, of which the gradient may not take over the memory.
  Kernels(R"(graph g(x: f32[2,4,3,3], s: f32[4], m: f32[4], v: f32[4]) {
    w = exp(v)
    r = relu(x)
    dx, ds, db = batch_norm_training_gradient(r, s, m, w, r)
    y = add(dx, r)
    return y, ds, db
  })");
}

// A product that is wanted transposed is computed so.
TEST(CpuFusion, ProductsOfTransposedOperands) {
  for (const auto& [shapes, perm] : std::vector<std::pair<const char*, const char*>>{
           {"x: f32[9,5], y: f32[9,7], w: f32[7,5]", "[1,0]"},
           {"x: f32[2,9,5], y: f32[2,9,7], w: f32[2,7,5]", "[0,2,1]"},
           {"x: f32[3,2,9,5], y: f32[3,2,9,7], w: f32[3,2,7,5]", "[0,1,3,2]"}}) {
    EXPECT_EQ(Kernels(absl::Substitute(R"(graph g($0) {
      a = exp(x)
      t = transpose(a) {perm = $1}
      p = matmul(t, y)
      q = transpose(p) {perm = $1}
      z = mul(q, w)
      return z
    })",
                                       shapes, perm)),
              "exp matmul mul");
  }
}

// What is known beforehand is row-major, whatever a kernel would like.
TEST(CpuFusion, ImagesThatAreKnownBeforehand) {
  const std::string x = "graph g(f: f32[4,3,2,2], x: weight f32[2,3,5,6], dy: f32[2,3,2,3]) {\n ";
  for (const char* application :
       {"y = conv2d(x, f)", "t = transpose(f) {perm = [1,0,2,3]} y = conv_transpose2d(x, t)",
        "y = max_pool2d_gradient(x, dy) {kernel = [2,2], strides = [2,2]}"}) {
    std::string lines = application;
    if (size_t at = lines.find("} y"); at != std::string::npos) lines[at + 1] = '\n';
    Kernels(absl::StrCat(x, lines, "\n return y\n}"));
  }
}

// Rows and columns at the end that no window reaches are zero.
TEST(CpuFusion, TransposedConvolutionsThatReachNotAll) {
  for (const char* window :
       {"strides = [2,2], output_padding = [1,1]", "strides = [3,2], output_padding = [2,0]",
        "strides = [2,2], output_padding = [1,1], pads = [0,0,1,0], groups = 2"}) {
    Kernels(
        absl::StrCat("graph g(x: f32[2,6,4,5], f: f32[6,8,2,1]) {\n r = relu(x)\n"
                     " y = conv_transpose2d(r, f) {",
                     window, "}\n z = exp(y)\n return z\n}"));
  }
}

// Many equal maxima, which relu makes: the first one takes all.
TEST(CpuFusion, GradientsThatScatter) {
  for (const char* window :
       {"kernel = [3,3], strides = [2,2]", "kernel = [2,3], pads = [1,0,0,1]",
        "kernel = [3,2], strides = [2,1], dilations = [1,2], pads = [1,1,1,1]"}) {
    EXPECT_EQ(
        Kernels(absl::StrCat("graph g(x: f32[3,17,9,8]) {\n r = relu(x)\n p = max_pool2d(r) {",
                             window, "}\n s = mul(p, p)\n y = max_pool2d_gradient(r, s) {", window,
                             "}\n return y\n}")),
        "relu copy max_pool2d mul max_pool2d_gradient copy")
        << window;
  }
  Kernels(R"(graph g(x: f32[4,5,6], i: i64[7,3,2], u: f32[7,3,6]) {
    a = relu(x)
    y = scatter_nd(a, i, u) {reduction = "add"}
    return y
  })");
  Kernels(R"(graph g(i: i64[9,1], u: f32[9,33]) {
    z = constant f32[50,33] fill 0.0
    j = constant i64[9,1] [0, -1, 3, -50, 3, 3, 49, 2, 1]
    a = scatter_nd(z, i, u) {reduction = "add"}
    b = scatter_nd(a, j, u) {reduction = "add"}
    return a, b
  })");
}

// A filter that is a view of another value lies otherwise than one that is known beforehand.
TEST(CpuFusion, FiltersThatAreViews) {
  for (const char* window : {"pads = [1,1,1,1]", "dilations = [2,2], strides = [2,1]"}) {
    EXPECT_NE(ExchangedConvolution("3,2", window).find(": conv("), std::string::npos) << window;
  }
}

// A gradient convolves with values that others want channels last.
TEST(CpuFusion, WeightsMayBeViews) {
  Kernels(R"(graph g(x: f32[32,4,7,7], d: f32[4,128,7,7], v: f32[128,32,3,3]) {
    a = relu(d)
    t = transpose(a) {perm = [1,0,2,3]}
    y = conv2d(x, t) {pads = [1,1,1,1]}
    z = conv_transpose2d(a, v) {pads = [1,1,1,1]}
    return y, z
  })");
  Kernels(R"(graph g(x: f32[2,8,5,5], d: f32[4,8,3,3]) {
    a = relu(d)
    t = transpose(a) {perm = [1,0,2,3]}
    y = conv_transpose2d(x, t) {pads = [1,1,1,1]}
    z = conv2d(x, a) {pads = [1,1,1,1]}
    return y, z
  })");
}

TEST(CpuFusion, BiasesMayBeViews) {
  Kernels(R"(graph g(x: f32[6,4], w: f32[4,5], b: f32[5,3], c: f32[2,4,5,5], k: f32[5,4,3,3]) {
    t = slice(b) {starts = [0,1], sizes = [5,1]}
    v = reshape(t) {shape = [5]}
    p = matmul(x, w)
    y = add(p, v)
    z = conv2d(c, k, v)
    return y, z
  })");
}

// Where the last rows and columns are reached by no window, oneDNN leaves them at zero.
TEST(CpuFusion, TransposedConvolutionWithRowsThatNothingReaches) {
  EXPECT_EQ(Kernels(R"(graph g(x: f32[2,6,4,4], w: weight f32[6,3,1,1]) {
    y = conv_transpose2d(x, w) {strides = [2,2], output_padding = [1,1]}
    return y
  })"),
            "copy conv_transpose2d copy");
}

TEST(CpuFusion, PixelwiseConvolutionAddsItsOwnInput) {
  EXPECT_EQ(Kernels(R"(graph g(x: f32[2,7,5,3], w: weight f32[7,7,1,1], b: weight f32[7]) {
    a = tanh(x)
    c = conv2d(a, w, b)
    y = add(a, c)
    return y
  })"),
            "tanh copy conv2d+add copy");
}

// f(0) is not 0, so that channels padded to a multiple of 16 would show.
TEST(CpuFusion, OddChannelsWithShiftedActivations) {
  for (const char* f : {"sigmoid", "gelu", "silu", "hard_swish", "elu", "tanh"}) {
    EXPECT_EQ(Kernels(absl::StrCat(R"(graph g(x: f32[1,3,9,9], w: weight f32[17,3,3,3],
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
  EXPECT_EQ(Kernels(R"(graph g(x: f32[4,6], w: weight f32[6,9]) {
    a = matmul(x, w)
    s = sigmoid(a)
    y = mul(a, s)
    return y
  })"),
            "matmul+sigmoid+mul");
}

// A graph of `head`, of which a0 is a result, `count` times `line`, of which $0 is the result and
// $1 the result before, and `tail`, where $0 is the last result.
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

// What a kernel of `head`, which may be "", and `count` times `op` is called.
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
    EXPECT_EQ(Kernels(Chain(kConvolved, kConvolve, kMove, 32 + more)), expected) << more;
  }
}

TEST(CpuFusion, LongChainsBehindAMatrixProduct) {
  EXPECT_EQ(Kernels(Chain("x: f32[4,6], w: weight f32[6,9]", "a0 = matmul(x, w)", kMove, 60)),
            absl::StrCat(Fused("matmul", "scalar_mul", 32), " ", Fused("", "scalar_mul", 4), " ",
                         Fused("", "scalar_mul", 24)));
  EXPECT_EQ(Kernels(Chain("x: f32[4,6], w: weight f32[6,9], b: weight f32[9]",
                          "p = matmul(x, w) a0 = add(p, b)", kMove, 32)),
            absl::StrCat("matmul+add+", Fused("", "scalar_mul", 31), " scalar_mul"));
}

TEST(CpuFusion, LongChainsBehindOtherHeads) {
  for (const char* head : {"a0 = conv2d(x, w)", "a0 = conv2d(x, w) {strides = [2,2]}",
                           "a0 = conv_transpose2d(x, w) {strides = [2,2]}"}) {
    EXPECT_NE(Kernels(Chain("x: f32[1,5,4,4], w: weight f32[5,5,1,1]", head, kMove, 60)), "")
        << head;
  }
}

// Each function's code is of another length.
TEST(CpuFusion, LongChainsOfEveryActivation) {
  for (const char* f : {"relu", "sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "hard_swish"}) {
    const std::string line = absl::StrCat("s$0 = scalar_mul($1) {alpha = 2.5}\n$0 = ", f, "(s$0)");
    EXPECT_NE(Kernels(Chain(kConvolved, kConvolve, line, 30)), "") << f;
    EXPECT_NE(Kernels(Chain("x: f32[4,6], w: weight f32[6,9]", "a0 = matmul(x, w)", line, 30)), "")
        << f;
  }
}

TEST(CpuFusion, LongChainsOfSwishInTwoOperators) {
  EXPECT_NE(Kernels(Chain(kConvolved, kConvolve, "s$0 = sigmoid($1)\n$0 = mul($1, s$0)", 40)), "");
}

// Each takes two of the 32.
TEST(CpuFusion, LongChainsOfNorms) {
  const std::string inputs = absl::StrCat(kConvolved,
                                          ", s: weight f32[5], b: weight f32[5], m: weight f32[5], "
                                          "v: weight f32[5] = [0.5, 1.0, 2.0, 0.25, 1.5]");
  const std::string kernels =
      Kernels(Chain(inputs, kConvolve, "$0 = batch_norm($1, s, b, m, v)", 20));
  EXPECT_EQ(kernels.find(Fused("conv2d", "batch_norm", 17)), std::string::npos) << kernels;
  EXPECT_NE(kernels.find(Fused("conv2d", "batch_norm", 16)), std::string::npos) << kernels;
}

TEST(CpuFusion, LongChainsOfResidualsAndBiases) {
  EXPECT_NE(Kernels(Chain(kConvolved, kConvolve, "$0 = add($1, x)", 60)), "");
  EXPECT_NE(Kernels(Chain(kConvolved + std::string(", b: weight f32[5,1,1]"), kConvolve,
                          "r$0 = relu($1)\n$0 = add(r$0, b)", 40)),
            "");
  EXPECT_NE(Kernels(Chain("x: f32[4,6], w: weight f32[6,6]", "a0 = matmul(x, w)",
                          "h$0 = scalar_mul($1) {alpha = 0.5}\n$0 = add(h$0, x)", 30)),
            "");
}

// Were each operand written out, these would be 2^60 terms.
TEST(CpuFusion, ChainsOfSharedOperands) {
  const char* line = "t$0 = mul($1, $1)\n$0 = sqrt(t$0)";
  EXPECT_NE(Kernels(Chain("x: f32[4,6]", "a0 = sigmoid(x)", line, 60)), "");
  EXPECT_EQ(Kernels(Chain("x: f32[4,6], w: weight f32[6,6], c: weight f32[4,6]", "a0 = sigmoid(c)",
                          line, 60, "p = matmul(x, w)\ny = add(p, $0)\nreturn y")),
            "matmul add");
}

TEST(CpuFusion, ElementwiseChainsAreOneKernel) {
  EXPECT_EQ(Kernels(R"(graph g(x: f32[3,40], b: f32[40], c: f32[3,1]) {
    p = mul(x, b)
    q = exp(p)
    r = add(q, x)
    y = div(r, c)
    return y
  })"),
            "mul+exp+add+div");
}

TEST(CpuFusion, AnInnerOutputIsKept) {
  EXPECT_EQ(Kernels(R"(graph g(x: f32[3,4], w: weight f32[4,4]) {
    a = matmul(x, w)
    b = relu(a)
    return a, b
  })"),
            "matmul relu");
}

TEST(CpuFusion, ConcatenationIsWrittenInPlace) {
  EXPECT_EQ(Kernels(R"(graph g(x: f32[1,6,5,5], w: weight f32[4,6,1,1], u: weight f32[3,6,1,1],
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
  const std::string kernels = Kernels(R"(graph g(x: f32[1,4,5,5], w: weight f32[3,4,3,3],
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
  EXPECT_NE(Kernels(R"(graph g(x: f32[2,3], c: weight f32[2,1]) {
    a = exp(x)
    b = concat(a, c, a) {axis = 1}
    d = concat(b, b) {axis = 0}
    return d, b
  })"),
            "");
}

TEST(CpuFusion, AttentionReadsTransposedOperands) {
  EXPECT_EQ(Kernels(R"(graph g(x: f32[1,6,8], q: weight f32[8,8], k: weight f32[8,8],
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

TEST(CpuFusion, ChannelShuffleCopiesOnce) {
  EXPECT_EQ(Kernels(R"(graph g(x: f32[1,6,5,5], w: weight f32[6,6,3,3], u: weight f32[6,6,3,3]) {
    a = conv2d(x, w)
    g5 = reshape(a) {shape = [1,2,3,3,3]}
    t = transpose(g5) {perm = [0,2,1,3,4]}
    s = reshape(t) {shape = [1,6,3,3]}
    y = conv2d(s, u)
    return y
  })"),
            "copy conv2d copy conv2d");
}

TEST(CpuFusion, SplitsAndSlicesAreViews) {
  EXPECT_EQ(Kernels(R"(graph g(x: f32[4,12], w: weight f32[4,3]) {
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
  EXPECT_EQ(
      Kernels(R"(graph g(x: f32[1,16,4,15], w: weight f32[16,16,3,3], u: weight f32[16,16,1,1]) {
    a = conv2d(x, w)
    s = slice(a) {starts = [0,0,0,0], sizes = [1,16,2,7], steps = [1,1,1,2]}
    y = conv2d(s, u)
    return y
  })"),
      "copy conv2d copy conv2d copy");
}

// Operands that are computed and that are views of something else.
TEST(CpuFusion, WeightsAndVectorsThatAreViews) {
  for (const char* body : {
           "e = transpose(w) {perm = [1,0,2,3]}\n y = conv2d(x, e)",
           "e = exp(w)\n f = transpose(e) {perm = [0,1,3,2]}\n y = conv_transpose2d(x, f)",
           "e = slice(w) {starts = [0,0,0,0], sizes = [3,2,1,1]}\n"
           "f = transpose(e) {perm = [1,0,2,3]}\n y = conv2d(x, f)",
           "b = slice(v) {starts = [0], sizes = [3], steps = [2]}\n"
           "e = reshape(w) {shape = [3,2,2,2]}\n f = transpose(e) {perm = [1,0,2,3]}\n"
           "g = concat(f, f) {axis = 0}\n"
           "h = slice(g) {starts = [0,0,0,0], sizes = [3,3,2,2]}\n y = conv2d(x, h, b)",
           "m = reshape(x) {shape = [18,6]}\n k = reshape(w) {shape = [6,4]}\n"
           "p = matmul(m, k)\n b = slice(v) {starts = [1], sizes = [4], steps = [2]}\n"
           "y = add(p, b)",
       }) {
    ExpectCpuMatchesReference(absl::StrCat(
        "graph g(x: f32[1,3,6,6], w: f32[3,2,2,2], v: f32[8]) {\n", body, "\n return y }"));
  }
}

TEST(CpuFusion, InputsAndWeightsAsOutputs) {
  EXPECT_EQ(Kernels(R"(graph g(x: f32[2,3], w: weight f32[3]) {
    y = relu(x)
    return x, w, y
  })"),
            "relu copy copy");
}

}  // namespace
}  // namespace lemma
