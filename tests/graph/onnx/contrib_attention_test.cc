// Attention operators of com.microsoft.
#include <cmath>

#include "gmock/gmock.h"
#include "tests/graph/onnx/grid.h"

namespace lemma {
namespace {

using testing::HasSubstr;

constexpr char kContrib[] = "com.microsoft";

// x * w for matrices; x is [.,.,K].
Grid Product(const Grid& x, const Grid& w) {
  Grid y({x.shape[0], x.shape[1], w.shape[1]});
  for (int64_t b = 0; b < y.shape[0]; ++b) {
    for (int64_t i = 0; i < y.shape[1]; ++i) {
      for (int64_t j = 0; j < y.shape[2]; ++j) {
        for (int64_t k = 0; k < w.shape[0]; ++k) y(b, i, j) += x(b, i, k) * w(k, j);
      }
    }
  }
  return y;
}

// The columns from `begin` on of [.,.,width].
Grid Columns(const Grid& x, int64_t begin, int64_t count) {
  Grid y({x.shape[0], x.shape[1], count});
  for (int64_t b = 0; b < y.shape[0]; ++b) {
    for (int64_t i = 0; i < y.shape[1]; ++i) {
      for (int64_t j = 0; j < count; ++j) y(b, i, j) = x(b, i, begin + j);
    }
  }
  return y;
}

// Rows of the mask add -10000 where they are 0, or hide the keys after a number of them.
TEST(ContribAttention, ProjectsItsInput) {
  const Grid x = Random({2, 3, 8}, 1), w = Random({8, 24}, 2), bias = Random({24}, 3),
             past = Random({2, 2, 2, 1, 4}, 4);
  const Grid qkv = Sum(Product(x, w), bias);
  auto part = [&](int i) { return InHeads(Columns(qkv, i * 8, 8), 2); };
  auto with_past = [&](int half) {
    const Grid now = part(1 + half);
    Grid y({2, 2, 4, 4});
    for (int b = 0; b < 2; ++b) {
      for (int h = 0; h < 2; ++h) {
        for (int d = 0; d < 4; ++d) {
          y(b, h, 0, d) = past(half, b, h, 0, d);
          for (int t = 0; t < 3; ++t) y(b, h, t + 1, d) = now(b, h, t, d);
        }
      }
    }
    return y;
  };
  Grid mask({2, 4}, 1);
  mask(0, 2) = mask(1, 0) = 0;
  auto score = [&](int64_t b, int64_t, int64_t i, int64_t j, double s) {
    return j > i + 1 ? kMinusInfinity : s + (mask(b, j) != 0 ? 0 : -2);
  };
  const auto y = RunGraph(
      "g (float[2,3,8] x, float[8,24] w, float[24] b, int32[2,4] m, float[2,2,2,1,4] p) => "
      "(float[2,3,8] y, float[2,2,2,4,4] r) { y, r = Attention<num_heads = 2, unidirectional = 1, "
      "mask_filter_value = -2.0>(x, w, b, m, p) }",
      17, {x, w, bias, mask, past}, kContrib);
  const Grid k = with_past(0), v = with_past(1);
  EXPECT_TRUE(Near(y.at(0), JoinedHeads(AttentionByLoops(part(0), k, v, 0.5, score)), 1e-5));
  Grid present({2, 2, 2, 4, 4});
  std::copy(k.values.begin(), k.values.end(), present.values.begin());
  std::copy(v.values.begin(), v.values.end(), present.values.begin() + 64);
  EXPECT_TRUE(Near(y[1], present, 1e-5));
}

TEST(ContribAttention, MultiHeadFormsOfKeysAndValues) {
  const Grid q = Random({2, 3, 8}, 1), k = Random({2, 5, 8}, 2), v = Random({2, 5, 12}, 3),
             bias = Random({28}, 4), lengths = Vector({4, 2});
  auto biased = [&](const Grid& x, int64_t from) {
    Grid part({x.shape[2]});
    for (int64_t i = 0; i < x.shape[2]; ++i) part(i) = bias(from + i);
    return InHeads(Sum(x, part), 2);
  };
  auto score = [&](int64_t b, int64_t, int64_t, int64_t j, double s) {
    return s + (static_cast<double>(j) < lengths(b) ? 0 : -10000);
  };
  const auto y = RunGraph(
      "g (float[2,3,8] q, float[2,5,8] k, float[2,5,12] v, float[28] b, int32[2] n) => "
      "(float[2,3,12] y) { y = MultiHeadAttention<num_heads = 2>(q, k, v, b, n) }",
      17, {q, k, v, bias, lengths}, kContrib);
  const Grid expected = AttentionByLoops(biased(q, 0), biased(k, 8), biased(v, 16), 0.5, score);
  EXPECT_TRUE(Near(y.at(0), JoinedHeads(expected), 1e-5));

  // Query, key and value of a head are neighbors.
  const Grid packed = Random({2, 3, 24}, 5);
  auto unpacked = [&](int part) {
    Grid x({2, 2, 3, 4});
    for (int b = 0; b < 2; ++b) {
      for (int h = 0; h < 2; ++h) {
        for (int l = 0; l < 3; ++l) {
          for (int d = 0; d < 4; ++d) x(b, h, l, d) = packed(b, l, (h * 3 + part) * 4 + d);
        }
      }
    }
    return x;
  };
  Grid input = packed;
  input.shape = {2, 3, 2, 3, 4};
  const auto z = RunGraph(
      "g (float[2,3,2,3,4] x) => (float[2,3,8] y) { y = MultiHeadAttention<num_heads = 2>(x) }", 17,
      {input}, kContrib);
  auto plain = [](int64_t, int64_t, int64_t, int64_t, double s) { return s; };
  EXPECT_TRUE(Near(
      z.at(0), JoinedHeads(AttentionByLoops(unpacked(0), unpacked(1), unpacked(2), 0.5, plain))));
}

// Row b of the batch has n[b] keys. The cache has room for 6.
class GroupQueryTest : public testing::Test {
 protected:
  const Grid q_ = Random({2, 1, 16}, 1), k_ = Random({2, 1, 8}, 2), v_ = Random({2, 1, 8}, 3);
  const Grid past_k_ = Random({2, 2, 6, 4}, 4), past_v_ = Random({2, 2, 6, 4}, 5);
  const int64_t n_[2] = {5, 3};

  Grid Present(const Grid& past, const Grid& now) const {
    Grid y({2, 2, 6, 4});
    for (int b = 0; b < 2; ++b) {
      for (int h = 0; h < 2; ++h) {
        for (int t = 0; t < n_[b]; ++t) {
          for (int d = 0; d < 4; ++d) {
            y(b, h, t, d) = t + 1 < n_[b] ? past(b, h, t, d) : now(b, h, 0, d);
          }
        }
      }
    }
    return y;
  }
  static std::string Graph(const std::string& attributes, const std::string& inputs = "",
                           const std::string& names = "") {
    return "g (float[2,1,16] q, float[2,1,8] k, float[2,1,8] v, float[2,2,6,4] a, "
           "float[2,2,6,4] b, int32[2] n" +
           inputs +
           ") => (float[2,1,16] y, float[2,2,6,4] c, float[2,2,6,4] d) "
           "{ t = Constant<value_int = 5>() "
           "y, c, d = GroupQueryAttention<num_heads = 4, kv_num_heads = 2" +
           attributes + ">(q, k, v, a, b, n, t" + names + ") }";
  }
  std::vector<Grid> Run(const std::string& graph, const std::vector<Grid>& more = {}) {
    std::vector<Grid> inputs = {q_, k_, v_, past_k_, past_v_, Vector({4, 2})};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return RunGraph(graph, 17, inputs, kContrib);
  }
};

TEST_F(GroupQueryTest, WritesTheCacheAndReadsIt) {
  auto score = [&](int64_t b, int64_t, int64_t, int64_t j, double s) {
    return j < n_[b] ? 0.5 * std::tanh(2 * s) : kMinusInfinity;
  };
  const Grid k = Present(past_k_, InHeads(k_, 2)), v = Present(past_v_, InHeads(v_, 2));
  const auto y = Run(Graph(", softcap = 0.5, scale = 0.3"));
  EXPECT_TRUE(Near(y.at(0), JoinedHeads(AttentionByLoops(InHeads(q_, 4), k, v, 0.3, score))));
  EXPECT_TRUE(Near(y[1], k, 0));
  EXPECT_TRUE(Near(y[2], v, 0));
}

// A sink takes part in the softmax, but has no value; without one, a smooth softmax has a sink of
// 0.
TEST_F(GroupQueryTest, WindowBiasAndSink) {
  const Grid bias = Random({1, 4, 1, 6}, 6), sink = Random({4}, 7);
  const Grid k = Present(past_k_, InHeads(k_, 2)), v = Present(past_v_, InHeads(v_, 2));
  // The sink is one more key, whose value is 0.
  Grid sunk_k({2, 2, 7, 4}), sunk_v({2, 2, 7, 4});
  for (int b = 0; b < 2; ++b) {
    for (int h = 0; h < 2; ++h) {
      for (int t = 0; t < 6; ++t) {
        for (int d = 0; d < 4; ++d) {
          sunk_k(b, h, t, d) = k(b, h, t, d);
          sunk_v(b, h, t, d) = v(b, h, t, d);
        }
      }
    }
  }
  auto score = [&](int64_t b, int64_t h, int64_t, int64_t j, double s) {
    if (j == 6) return sink(h);
    return j < n_[b] && j >= n_[b] - 2 ? s + bias(0, h, 0, j) : kMinusInfinity;
  };
  const auto y =
      Run(Graph(", local_window_size = 2", ", float[1,4,1,6] m, float[4] s", ", , , , m, s"),
          {bias, sink});
  EXPECT_TRUE(
      Near(y.at(0), JoinedHeads(AttentionByLoops(InHeads(q_, 4), sunk_k, sunk_v, 0.5, score))));
  auto smooth = [&](int64_t b, int64_t, int64_t, int64_t j, double s) {
    return j == 6 ? 0 : j < n_[b] ? s : kMinusInfinity;
  };
  const auto z = Run(Graph(", smooth_softmax = 1"));
  EXPECT_TRUE(
      Near(z.at(0), JoinedHeads(AttentionByLoops(InHeads(q_, 4), sunk_k, sunk_v, 0.5, smooth))));
}

// New queries and keys are rotated by their position, which is n[b] - 1.
TEST_F(GroupQueryTest, RotatesNewPositions) {
  const Grid cos = Random({6, 2}, 8), sin = Random({6, 2}, 9);
  auto rotated = [&](const Grid& x) {
    Grid y = x;
    for (int b = 0; b < 2; ++b) {
      for (int h = 0; h < x.shape[1]; ++h) {
        for (int i = 0; i < 2; ++i) {
          const double c = cos(n_[b] - 1, i), s = sin(n_[b] - 1, i);
          y(b, h, 0, i) = c * x(b, h, 0, i) - s * x(b, h, 0, i + 2);
          y(b, h, 0, i + 2) = s * x(b, h, 0, i) + c * x(b, h, 0, i + 2);
        }
      }
    }
    return y;
  };
  auto score = [&](int64_t b, int64_t, int64_t, int64_t j, double s) {
    return j < n_[b] ? s : kMinusInfinity;
  };
  const Grid k = Present(past_k_, rotated(InHeads(k_, 2))), v = Present(past_v_, InHeads(v_, 2));
  const auto y =
      Run(Graph(", do_rotary = 1", ", float[6,2] e, float[6,2] f", ", e, f"), {cos, sin});
  EXPECT_TRUE(
      Near(y.at(0), JoinedHeads(AttentionByLoops(rotated(InHeads(q_, 4)), k, v, 0.5, score))));
  EXPECT_TRUE(Near(y[1], k));
}

// Without a past, the keys are those of the queries. Positions from the row's length on are
// padding.
TEST_F(GroupQueryTest, PackedPrompt) {
  const Grid qkv = Random({2, 3, 32}, 10), last = Vector({2, 1});
  auto part = [&](int64_t from, int64_t heads) {
    return InHeads(Columns(qkv, from, heads * 4), heads);
  };
  auto score = [&](int64_t b, int64_t, int64_t i, int64_t j, double s) {
    return j <= i && static_cast<double>(j) <= last(b) ? s : kMinusInfinity;
  };
  const auto y = RunGraph(
      "g (float[2,3,32] q, int32[2] n) => (float[2,3,16] y, float[2,2,3,4] c, float[2,2,3,4] d) "
      "{ t = Constant<value_int = 3>() y, c, d = GroupQueryAttention<num_heads = 4, "
      "kv_num_heads = 2>(q, , , , , n, t) }",
      17, {qkv, last}, kContrib);
  const Grid k = part(16, 2), v = part(24, 2);
  EXPECT_TRUE(Near(y.at(0), JoinedHeads(AttentionByLoops(part(0, 4), k, v, 0.5, score))));
  EXPECT_TRUE(Near(y[1], k, 0));
}

TEST_F(GroupQueryTest, Errors) {
  EXPECT_THAT(ErrorOfGraph("g (float[2,1,16] q, int32[2] n, int32 t) => (float[2,1,8] y) "
                           "{ y = GroupQueryAttention<num_heads = 2, kv_num_heads = 1>"
                           "(q, , , , , n, t) }",
                           17, kContrib),
              HasSubstr("unsupported: GroupQueryAttention (input 6 't' must be a constant)"));
  EXPECT_THAT(ErrorOfGraph(Graph(", qk_output = 1"), 17, kContrib),
              HasSubstr("unsupported: GroupQueryAttention (qk_output = 1)"));
  EXPECT_THAT(ErrorOfGraph(Graph(", k_quant_type = \"PER_TENSOR\""), 17, kContrib),
              HasSubstr("unsupported: GroupQueryAttention (a quantized cache)"));
  std::string flat = Graph("");
  flat.replace(flat.find("float[2,2,6,4] a"), 16, "float[2,2,24] a");
  EXPECT_THAT(ErrorOfGraph(flat, 17, kContrib), HasSubstr("input 3 must have rank 4"));
}

}  // namespace
}  // namespace lemma
