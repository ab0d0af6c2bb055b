// Kernels of training: gradients of filters, operands that are views of computed values, batch
// normalization by the statistics of a batch. Results equal the reference's.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

// A convolution of x, [2,5,9,8], and dy, both with batch and channels exchanged; its plan.
std::string ExchangedConvolution(absl::string_view dy, absl::string_view window) {
  const Graph graph =
      GraphWithWeights(absl::StrCat("graph g(x: f32[2,5,9,8], dy: f32[2,7,", dy, R"(]) {
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

// Strides of the original convolution are dilations of the convolution that computes its weights'
// gradient, and vice versa.
TEST(CpuTrainingKernels, GradientsOfConvolutionWeights) {
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

// A convolution with dy of the first `used` rows and columns of x, of height and width `x`, as for
// the gradient of filters.
std::string CutConvolution(absl::string_view x, absl::string_view start, absl::string_view used,
                           absl::string_view dy, absl::string_view window) {
  return CheckedKernelsOf(absl::Substitute(R"(graph g(x: f32[3,5,$0], dy: f32[3,7,$3]) {
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

// Filters that never reach the last row or column, and filters of one pixel, with and without
// strides.
TEST(CpuTrainingKernels, GradientsOfFiltersThatDoNotReachTheEnd) {
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

TEST(CpuTrainingKernels, BatchNormalizationOfBatches) {
  EXPECT_EQ(
      CheckedKernelsOf(R"(graph g(x: f32[3,37,5,6], s: f32[37], b: f32[37], d: f32[3,37,5,6]) {
    r = relu(x)
    y, m, v = batch_norm_training(r, s, b) {epsilon = 0.001}
    z = relu(y)
    e = mul(d, z)
    dx, ds, db = batch_norm_training_gradient(r, s, m, v, e) {epsilon = 0.001}
    return z, m, v, dx, ds, db
  })"),
      "relu copy batch_norm_training relu mul copy batch_norm_training_gradient copy");
  // A value that is used twice; the gradient must not overwrite it.
  CheckedKernelsOf(R"(graph g(x: f32[2,4,3,3], s: f32[4], m: f32[4], v: f32[4]) {
    w = exp(v)
    r = relu(x)
    dx, ds, db = batch_norm_training_gradient(r, s, m, w, r)
    y = add(dx, r)
    return y, ds, db
  })");
}

// A product whose transpose is needed is computed transposed.
TEST(CpuTrainingKernels, ProductsOfTransposedOperands) {
  for (const auto& [shapes, perm] : std::vector<std::pair<const char*, const char*>>{
           {"x: f32[9,5], y: f32[9,7], w: f32[7,5]", "[1,0]"},
           {"x: f32[2,9,5], y: f32[2,9,7], w: f32[2,7,5]", "[0,2,1]"},
           {"x: f32[3,2,9,5], y: f32[3,2,9,7], w: f32[3,2,7,5]", "[0,1,3,2]"}}) {
    EXPECT_EQ(CheckedKernelsOf(absl::Substitute(R"(graph g($0) {
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

// Values known beforehand are row-major, whatever layout a kernel prefers.
TEST(CpuTrainingKernels, ImagesThatAreKnownBeforehand) {
  const std::string x = "graph g(f: f32[4,3,2,2], x: weight f32[2,3,5,6], dy: f32[2,3,2,3]) {\n ";
  for (const char* application :
       {"y = conv2d(x, f)", "t = transpose(f) {perm = [1,0,2,3]} y = conv_transpose2d(x, t)",
        "y = max_pool2d_gradient(x, dy) {kernel = [2,2], strides = [2,2]}"}) {
    std::string lines = application;
    if (size_t at = lines.find("} y"); at != std::string::npos) lines[at + 1] = '\n';
    CheckedKernelsOf(absl::StrCat(x, lines, "\n return y\n}"));
  }
}

// Rows and columns at the end that no window reaches are zero.
TEST(CpuTrainingKernels, TransposedConvolutionsThatReachNotAll) {
  for (const char* window :
       {"strides = [2,2], output_padding = [1,1]", "strides = [3,2], output_padding = [2,0]",
        "strides = [2,2], output_padding = [1,1], pads = [0,0,1,0], groups = 2"}) {
    CheckedKernelsOf(
        absl::StrCat("graph g(x: f32[2,6,4,5], f: f32[6,8,2,1]) {\n r = relu(x)\n"
                     " y = conv_transpose2d(r, f) {",
                     window, "}\n z = exp(y)\n return z\n}"));
  }
}

// Many equal maxima, made by relu: the first one gets the whole gradient.
TEST(CpuTrainingKernels, GradientsThatScatter) {
  for (const char* window :
       {"kernel = [3,3], strides = [2,2]", "kernel = [2,3], pads = [1,0,0,1]",
        "kernel = [3,2], strides = [2,1], dilations = [1,2], pads = [1,1,1,1]"}) {
    EXPECT_EQ(
        CheckedKernelsOf(absl::StrCat(
            "graph g(x: f32[3,17,9,8]) {\n r = relu(x)\n p = max_pool2d(r) {", window,
            "}\n s = mul(p, p)\n y = max_pool2d_gradient(r, s) {", window, "}\n return y\n}")),
        "relu copy max_pool2d mul max_pool2d_gradient copy")
        << window;
  }
  CheckedKernelsOf(R"(graph g(x: f32[4,5,6], i: i64[7,3,2], u: f32[7,3,6]) {
    a = relu(x)
    y = scatter_nd(a, i, u) {reduction = "add"}
    return y
  })");
  CheckedKernelsOf(R"(graph g(i: i64[9,1], u: f32[9,33]) {
    z = constant f32[50,33] fill 0.0
    j = constant i64[9,1] [0, -1, 3, -50, 3, 3, 49, 2, 1]
    a = scatter_nd(z, i, u) {reduction = "add"}
    b = scatter_nd(a, j, u) {reduction = "add"}
    return a, b
  })");
}

// The gradient of an embedding keeps no table of zeros; other tables are kept.
TEST(CpuTrainingKernels, ATableOfOneNumberIsNotKept) {
  constexpr char kText[] = R"(graph g(i: i64[9,1], u: f32[9,33]) {
    z = constant f32[50,33] fill $0
    e = slice(z) {starts = [0,0], sizes = [49,33]}
    p = pad(e) {pads = [1,0,0,0], value = $1}
    y = scatter_nd(p, i, u) {reduction = "$2"}
    return y
  })";
  auto weight_bytes = [&](const char* fill, const char* edge, const char* reduction) {
    auto executable = ExpectCpuMatchesReference(absl::Substitute(kText, fill, edge, reduction));
    return executable == nullptr ? -1 : executable->memory().weight_bytes;
  };
  EXPECT_EQ(weight_bytes("0.0", "0.0", "add"), 0);
  EXPECT_EQ(weight_bytes("-0.25", "-0.25", "max"), 0);
  EXPECT_EQ(weight_bytes("0.0", "-0.0", "min"), 50 * 33 * 4);
  EXPECT_EQ(weight_bytes("1.5", "0.0", "add"), 50 * 33 * 4);
}

// A filter that is a view of another value has other strides than one that is known beforehand.
TEST(CpuTrainingKernels, FiltersThatAreViews) {
  for (const char* window : {"pads = [1,1,1,1]", "dilations = [2,2], strides = [2,1]"}) {
    EXPECT_NE(ExchangedConvolution("3,2", window).find(": conv("), std::string::npos) << window;
  }
}

// The filter of the gradient's convolution is a value that other kernels want with channels last.
TEST(CpuTrainingKernels, WeightsMayBeViews) {
  CheckedKernelsOf(R"(graph g(x: f32[32,4,7,7], d: f32[4,128,7,7], v: f32[128,32,3,3]) {
    a = relu(d)
    t = transpose(a) {perm = [1,0,2,3]}
    y = conv2d(x, t) {pads = [1,1,1,1]}
    z = conv_transpose2d(a, v) {pads = [1,1,1,1]}
    return y, z
  })");
  CheckedKernelsOf(R"(graph g(x: f32[2,8,5,5], d: f32[4,8,3,3]) {
    a = relu(d)
    t = transpose(a) {perm = [1,0,2,3]}
    y = conv_transpose2d(x, t) {pads = [1,1,1,1]}
    z = conv2d(x, a) {pads = [1,1,1,1]}
    return y, z
  })");
}

TEST(CpuTrainingKernels, BiasesMayBeViews) {
  CheckedKernelsOf(
      R"(graph g(x: f32[6,4], w: f32[4,5], b: f32[5,3], c: f32[2,4,5,5], k: f32[5,4,3,3]) {
    t = slice(b) {starts = [0,1], sizes = [5,1]}
    v = reshape(t) {shape = [5]}
    p = matmul(x, w)
    y = add(p, v)
    z = conv2d(c, k, v)
    return y, z
  })");
}

// oneDNN leaves the last rows and columns zero if no window reaches them.
TEST(CpuTrainingKernels, TransposedConvolutionWithRowsThatNothingReaches) {
  EXPECT_EQ(CheckedKernelsOf(R"(graph g(x: f32[2,6,4,4], w: weight f32[6,3,1,1]) {
    y = conv_transpose2d(x, w) {strides = [2,2], output_padding = [1,1]}
    return y
  })"),
            "copy conv_transpose2d copy");
}

// Operands that are computed, as views of other values.
TEST(CpuTrainingKernels, WeightsAndVectorsThatAreViews) {
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

}  // namespace
}  // namespace lemma
