// Normalizations, rotations, activations and products of transformers.
#include <algorithm>
#include <cmath>

#include "gmock/gmock.h"
#include "tests/graph/onnx/grid.h"

namespace lemma {
namespace {

using testing::HasSubstr;

constexpr char kContrib[] = "com.microsoft";

// (x - mean) / sqrt(mean of squares + epsilon) of each row of `size` elements; without `centered`,
// the mean counts as 0.
Grid Normalized(const Grid& x, int64_t size, double epsilon, bool centered) {
  Grid y = x;
  for (size_t begin = 0; begin < x.values.size(); begin += static_cast<size_t>(size)) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < size; ++i) mean += x.values[begin + i] / static_cast<double>(size);
    if (!centered) mean = 0;
    for (int64_t i = 0; i < size; ++i) {
      square += std::pow(x.values[begin + i] - mean, 2) / static_cast<double>(size);
    }
    for (int64_t i = 0; i < size; ++i) {
      y.values[begin + i] = (x.values[begin + i] - mean) / std::sqrt(square + epsilon);
    }
  }
  return y;
}

// y[…,i] = scale[i] * x[…,i] + bias[i], for i over the last elements of x.
Grid Scaled(Grid x, const Grid& scale, const Grid& bias) {
  for (size_t i = 0; i < x.values.size(); ++i) {
    const size_t c = i % scale.values.size();
    x.values[i] = scale.values[c] * x.values[i] + bias.values[c];
  }
  return x;
}

Grid Mapped(Grid x, double (*f)(double)) {
  for (double& value : x.values) value = f(value);
  return x;
}

double Gelu(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }
double TanhGelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double Swish(double x) { return x / (1 + std::exp(-0.5 * x)); }

const Grid kZeros({8});

TEST(TransformerNorms, RootMeanSquare) {
  const Grid x = Random({2, 3, 4}, 1), scale = Random({3, 4}, 2);
  const auto y = RunGraph(
      "g (float[2,3,4] x, float[3,4] w) => (float[2,3,4] y) "
      "{ y = RMSNormalization<axis = -2, epsilon = 0.1>(x, w) }",
      23, {x, scale});
  EXPECT_TRUE(Near(y.at(0), Scaled(Normalized(x, 12, 0.1, false), scale, Grid({3, 4}))));
}

// f16 squares of 300 overflow; the operator computes in f32.
TEST(TransformerNorms, HalfPrecisionIsComputedInSingle) {
  const Grid x = Vector({300, 300, -300, 300});
  const auto rms =
      RunGraph("g (float16[4] x, float16[4] w) => (float16[4] y) { y = RMSNormalization(x, w) }",
               23, {x, Grid({4}, 2)});
  EXPECT_TRUE(Near(rms.at(0), Vector({2, 2, -2, 2}), 2e-3));
  const auto layer = RunGraph(
      "g (float16[4] x, float16[4] w) => (float16[4] y, float[1] m, float[1] d) "
      "{ y, m, d = LayerNormalization(x, w) }",
      17, {x, Grid({4}, 1)});
  EXPECT_TRUE(Near(layer.at(0), Normalized(x, 4, 0, true), 2e-3));
  EXPECT_TRUE(Near(layer[1], Vector({150}), 1e-4));
  EXPECT_TRUE(Near(layer[2], Vector({1 / std::sqrt(67500.0)}), 1e-6));
}

// Before operator set 21, the scale is one number per group.
TEST(TransformerNorms, Groups) {
  const Grid x = Random({2, 4, 3}, 1), per_group = Random({2}, 2), bias = Random({2}, 3);
  Grid expected = Normalized(x, 6, 1e-5, true), scale({4}), offset({4});
  for (int c = 0; c < 4; ++c) {
    scale(c) = per_group(c / 2);
    offset(c) = bias(c / 2);
    for (int n = 0; n < 2; ++n) {
      for (int i = 0; i < 3; ++i) expected(n, c, i) = expected(n, c, i) * scale(c) + offset(c);
    }
  }
  const auto y = RunGraph(
      "g (float[2,4,3] x, float[2] w, float[2] b) => (float[2,4,3] y) "
      "{ y = GroupNormalization<num_groups = 2>(x, w, b) }",
      18, {x, per_group, bias});
  EXPECT_TRUE(Near(y.at(0), expected));
  const auto z = RunGraph(
      "g (float[2,4,3] x, float[4] w, float[4] b) => (float[2,4,3] y) "
      "{ y = GroupNormalization<num_groups = 2>(x, w, b) }",
      21, {x, scale, offset});
  EXPECT_TRUE(Near(z.at(0), expected));
  EXPECT_THAT(ErrorOfGraph("g (float[2,4,3] x, float[4] w) => (float[2,4,3] y) "
                           "{ y = GroupNormalization<num_groups = 2>(x, w, w) }",
                           18),
              HasSubstr("input 1 [4] must be [2]"));
}

TEST(TransformerNorms, SumsOfInputAndSkip) {
  const Grid x = Random({2, 3, 8}, 1), skip = Random({3, 8}, 2), scale = Random({8}, 3),
             beta = Random({8}, 4), bias = Random({8}, 5);
  const Grid sum = Sum(Sum(x, skip), bias);
  const auto y = RunGraph(
      "g (float[2,3,8] x, float[3,8] k, float[8] w, float[8] b, float[8] c) => "
      "(float[2,3,8] y, float[2,3,8] s) "
      "{ y, m, d, s = SkipLayerNormalization<epsilon = 0.1>(x, k, w, b, c) }",
      17, {x, skip, scale, beta, bias}, kContrib);
  EXPECT_TRUE(Near(y.at(0), Scaled(Normalized(sum, 8, 0.1, true), scale, beta)));
  EXPECT_TRUE(Near(y[1], sum));
  const auto z = RunGraph(
      "g (float[2,3,8] x, float[3,8] k, float[8] w, float[8] c) => (float[2,3,8] y) "
      "{ y = SkipSimplifiedLayerNormalization<epsilon = 0.1>(x, k, w, c) }",
      17, {x, skip, scale, bias}, kContrib);
  EXPECT_TRUE(Near(z.at(0), Scaled(Normalized(sum, 8, 0.1, false), scale, kZeros)));
}

TEST(TransformerNorms, Embeddings) {
  Grid ids({2, 3}), segments({2, 3}), mask({2, 3}, 1);
  ids.values = {6, 0, 2, 1, 1, 5};
  segments.values = {0, 0, 1, 0, 1, 1};
  mask(1, 1) = mask(1, 2) = 0;
  const Grid words = Random({7, 8}, 1), places = Random({5, 8}, 2), kinds = Random({2, 8}, 3),
             scale = Random({8}, 4), bias = Random({8}, 5);
  Grid sum({2, 3, 8});
  for (int b = 0; b < 2; ++b) {
    for (int l = 0; l < 3; ++l) {
      for (int d = 0; d < 8; ++d) {
        sum(b, l, d) = words(ids(b, l), d) + places(l, d) + kinds(segments(b, l), d);
      }
    }
  }
  const auto y = RunGraph(
      "g (int32[2,3] i, int32[2,3] s, float[7,8] w, float[5,8] p, float[2,8] k, float[8] a, "
      "float[8] b, int32[2,3] m) => (float[2,3,8] y, int32[2] n, float[2,3,8] e) "
      "{ y, n, e = EmbedLayerNormalization<epsilon = 0.1>(i, s, w, p, k, a, b, m) }",
      17, {ids, segments, words, places, kinds, scale, bias, mask}, kContrib);
  EXPECT_TRUE(Near(y.at(0), Scaled(Normalized(sum, 8, 0.1, true), scale, bias)));
  EXPECT_TRUE(Near(y[1], Vector({3, 1}), 0));
  EXPECT_TRUE(Near(y[2], sum));
}

// Pairs are (i, i + 2), or (2i, 2i + 1) if interleaved; the elements from 4 on stay.
TEST(RotaryEmbedding, RotatesPairsByPosition) {
  const Grid x = Random({2, 3, 12}, 1), cos = Random({9, 2}, 2), sin = Random({9, 2}, 3);
  Grid positions({2, 3});
  positions.values = {0, 8, 1, 4, 4, 2};
  for (const bool interleaved : {false, true}) {
    Grid expected = InHeads(x, 2);
    const Grid heads = expected;
    for (int b = 0; b < 2; ++b) {
      for (int h = 0; h < 2; ++h) {
        for (int l = 0; l < 3; ++l) {
          for (int i = 0; i < 2; ++i) {
            const int first = interleaved ? 2 * i : i, second = interleaved ? first + 1 : i + 2;
            const double c = cos(positions(b, l), i), s = sin(positions(b, l), i);
            expected(b, h, l, first) = c * heads(b, h, l, first) - s * heads(b, h, l, second);
            expected(b, h, l, second) = s * heads(b, h, l, first) + c * heads(b, h, l, second);
          }
        }
      }
    }
    const std::string attributes = std::string("<num_heads = 2, rotary_embedding_dim = 4, ") +
                                   "interleaved = " + (interleaved ? "1" : "0") + ">";
    const auto y = RunGraph(
        "g (float[2,3,12] x, float[9,2] c, float[9,2] s, int64[2,3] p) => (float[2,3,12] y) "
        "{ y = RotaryEmbedding" +
            attributes + "(x, c, s, p) }",
        23, {x, cos, sin, positions});
    EXPECT_TRUE(Near(y.at(0), JoinedHeads(expected))) << interleaved;
    const auto z = RunGraph(
        "g (float[2,3,12] x, int64[2,3] p, float[9,2] c, float[9,2] s) => (float[2,3,12] y) "
        "{ y = RotaryEmbedding" +
            attributes + "(x, p, c, s) }",
        17, {x, positions, cos, sin}, kContrib);
    EXPECT_TRUE(Near(z.at(0), JoinedHeads(expected))) << interleaved;
  }
}

TEST(RotaryEmbedding, Errors) {
  EXPECT_THAT(
      ErrorOfGraph("g (float[2,3,12] x, float[2,3,3] c) => (float[2,3,12] y) "
                   "{ y = RotaryEmbedding<num_heads = 2, rotary_embedding_dim = 4>(x, c, c) }",
                   23),
      HasSubstr("do not rotate 4 elements of [2,2,3,6]"));
  EXPECT_THAT(ErrorOfGraph("g (float[2,3,12] x, float[2,3,3] c) => (float[2,3,12] y) "
                           "{ y = RotaryEmbedding(x, c, c) }",
                           23),
              HasSubstr("attribute num_heads is missing"));
}

TEST(TransformerActivations, Formulas) {
  const Grid x = Random({3, 8}, 1), bias = Random({8}, 2);
  auto run = [&](const std::string& call, const std::string& domain) {
    return RunGraph("g (float[3,8] x, float[8] b) => (float[3,8] y) { y = " + call + " }",
                    domain.empty() ? 28 : 17, {x, bias}, domain)
        .at(0);
  };
  EXPECT_TRUE(Near(run("Gelu(x)", ""), Mapped(x, Gelu)));
  EXPECT_TRUE(Near(run("Gelu<approximate = \"tanh\">(x)", ""), Mapped(x, TanhGelu)));
  EXPECT_TRUE(Near(run("Swish<alpha = 0.5>(x)", ""), Mapped(x, Swish)));
  EXPECT_TRUE(Near(run("Gelu(x)", kContrib), Mapped(x, Gelu)));
  EXPECT_TRUE(Near(run("BiasGelu(x, b)", kContrib), Mapped(Sum(x, bias), Gelu)));
  EXPECT_TRUE(Near(run("FastGelu(x, b)", kContrib), Mapped(Sum(x, bias), TanhGelu)));
  EXPECT_TRUE(Near(run("QuickGelu<alpha = 0.5>(x)", kContrib), Mapped(x, Swish)));
  Grid gated = Mapped(x, Swish);
  for (size_t i = 0; i < x.values.size(); ++i) gated.values[i] *= x.values[i];
  EXPECT_TRUE(Near(run("SwiGLU<alpha = 0.5>(x, x)", ""), gated));
  EXPECT_THAT(
      ErrorOfGraph("g (float[3,8] x, float[8] b) => (float[3,8] y) { y = SwiGLU(x, b) }", 28),
      HasSubstr("A [3,8] and B [8] must have one shape"));
}

TEST(FusedProducts, MatMulTransposesAndScales) {
  const Grid a = Random({3, 2, 4}, 1), w = Random({5, 4}, 2);
  Grid expected({2, 3, 5});
  for (int b = 0; b < 2; ++b) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 5; ++j) {
        for (int k = 0; k < 4; ++k) expected(b, i, j) += 0.5 * a(i, b, k) * w(j, k);
      }
    }
  }
  const auto y = RunGraph(
      "g (float[3,2,4] a, float[5,4] w) => (float[2,3,5] y) "
      "{ y = FusedMatMul<transBatchA = 1, transB = 1, alpha = 0.5>(a, w) }",
      17, {a, w}, kContrib);
  EXPECT_TRUE(Near(y.at(0), expected));
}

TEST(FusedProducts, GemmActivates) {
  const Grid a = Random({2, 3}, 1), w = Random({4, 3}, 2), c = Random({4}, 3);
  Grid expected({2, 4});
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      double sum = 0.25 * c.values[j];
      for (size_t k = 0; k < 3; ++k) sum += 0.5 * a.values[3 * i + k] * w.values[3 * j + k];
      expected.values[4 * i + j] = std::max(sum, 0.0);
    }
  }
  const auto y = RunGraph(
      "g (float[2,3] a, float[4,3] w, float[4] c) => (float[2,4] y) { y = FusedGemm<alpha = 0.5, "
      "beta = 0.25, transB = 1, activation = \"Relu\">(a, w, c) }",
      17, {a, w, c}, kContrib);
  EXPECT_TRUE(Near(y.at(0), expected));
}

// FusedGemm names the parameters of its activation.
TEST(FusedProducts, GemmActivatesWithParameters) {
  const Grid a = Random({1, 4}, 1);
  Grid expected({1, 4}), unit({4, 4});
  for (size_t i = 0; i < 4; ++i) {
    unit.values[5 * i] = 1;
    expected.values[i] = std::min(std::max(0.5 * a.values[i] + 0.25, 0.0), 1.0);
  }
  const auto y = RunGraph(
      "g (float[1,4] a, float[4,4] w, float[4] c) => (float[1,4] y) { y = FusedGemm<activation = "
      "\"HardSigmoid\", activation_alpha = 0.5, activation_beta = 0.25>(a, w, c) }",
      17, {a, unit, Grid({4}, 0)}, kContrib);
  EXPECT_TRUE(Near(y.at(0), expected));
}

TEST(FusedProducts, ConvAddsAndActivates) {
  const Grid x = Random({1, 1, 2, 2}, 1), z = Random({1, 1, 2, 2}, 2);
  Grid expected({1, 1, 2, 2});
  for (size_t i = 0; i < 4; ++i) {
    const double s = 3 * x.values[i] + 0.25 + z.values[i];
    expected.values[i] = s < 0 ? 0.125 * s : s;
  }
  const auto y = RunGraph(
      "g (float[1,1,2,2] x, float[1,1,1,1] w, float[1] b, float[1,1,2,2] z) => (float[1,1,2,2] y) "
      "{ y = FusedConv<activation = \"LeakyRelu\", activation_params = [0.125]>(x, w, b, z) }",
      17, {x, Grid({1, 1, 1, 1}, 3), Grid({1}, 0.25), z}, kContrib);
  EXPECT_TRUE(Near(y.at(0), expected));
}

}  // namespace
}  // namespace lemma
