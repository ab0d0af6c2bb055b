// Attention operators of the default domain and of ai.onnx.preview.
#include <cmath>

#include "gmock/gmock.h"
#include "tests/graph/onnx/grid.h"

namespace lemma {
namespace {

using testing::HasSubstr;

double Plain(int64_t, int64_t, int64_t, int64_t, double s) { return s; }

const double kScale = 1 / std::sqrt(8.0);

class AttentionTest : public testing::Test {
 protected:
  // 4 heads of queries, 2 of keys.
  const Grid q_ = Random({2, 4, 3, 8}, 1), k_ = Random({2, 2, 5, 8}, 2),
             v_ = Random({2, 2, 5, 6}, 3);
};

TEST_F(AttentionTest, GroupedHeads) {
  const auto y = RunGraph(
      "g (float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,6] v) => (float[2,4,3,6] y) "
      "{ y = Attention(q, k, v) }",
      23, {q_, k_, v_});
  EXPECT_TRUE(Near(y.at(0), AttentionByLoops(q_, k_, v_, kScale, Plain)));
}

// The cap comes before the mask; the scores are given out before and after each step.
TEST_F(AttentionTest, MaskCapAndCausalOrderWithScores) {
  const Grid mask = Random({3, 5}, 4);
  auto capped = [](double s) { return 0.7 * std::tanh(s / 0.7); };
  auto score = [&](int64_t, int64_t, int64_t i, int64_t j, double s) {
    return j > i ? kMinusInfinity : capped(s) + mask(i, j);
  };
  const Grid expected = AttentionByLoops(q_, k_, v_, 0.3, score);
  for (int mode = 0; mode < 4; ++mode) {
    const auto y = RunGraph(
        "g (float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,6] v, float[3,5] m) => "
        "(float[2,4,3,6] y, float[2,4,3,5] s) { y, pk, pv, s = Attention<is_causal = 1, "
        "softcap = 0.7, scale = 0.3, qk_matmul_output_mode = " +
            std::to_string(mode) + ">(q, k, v, m) }",
        23, {q_, k_, v_, mask});
    EXPECT_TRUE(Near(y.at(0), expected)) << mode;
    double raw = 0;
    for (int d = 0; d < 8; ++d) raw += 0.3 * q_(1, 3, 2, d) * k_(1, 1, 1, d);
    const double by_mode[] = {raw, capped(raw), capped(raw) + mask(2, 1)};
    if (mode < 3) {
      EXPECT_NEAR(y[1](1, 3, 2, 1), by_mode[mode], 1e-6);
    }
    if (mode == 2) {
      EXPECT_EQ(y[1](1, 3, 1, 2), kMinusInfinity);
    }
    if (mode == 3) {
      EXPECT_NEAR(y[1](1, 3, 2, 0) + y[1](1, 3, 2, 1) + y[1](1, 3, 2, 2), 1, 1e-6);
      EXPECT_EQ(y[1](1, 3, 2, 3), 0);
    }
  }
}

TEST_F(AttentionTest, ARowWithoutKeysIsZero) {
  Grid mask({3, 5}, 1);
  for (int j = 0; j < 5; ++j) mask(1, j) = 0;
  mask(2, 3) = 0;
  auto score = [&](int64_t, int64_t, int64_t i, int64_t j, double s) {
    return mask(i, j) != 0 ? s : kMinusInfinity;
  };
  const auto y = RunGraph(
      "g (float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,6] v, bool[3,5] m) => "
      "(float[2,4,3,6] y, float[2,4,3,5] p) "
      "{ y, pk, pv, p = Attention<qk_matmul_output_mode = 3>(q, k, v, m) }",
      23, {q_, k_, v_, mask});
  EXPECT_TRUE(Near(y.at(0), AttentionByLoops(q_, k_, v_, kScale, score)));
  EXPECT_EQ(y[1](0, 0, 1, 0), 0);
}

TEST_F(AttentionTest, PastPositionsPrecedeTheNewOnes) {
  const Grid q = Random({2, 3, 32}, 5), k = Random({2, 3, 16}, 6), v = Random({2, 3, 12}, 7);
  const Grid past_k = Random({2, 2, 2, 8}, 8), past_v = Random({2, 2, 2, 6}, 9);
  auto joined = [](const Grid& a, const Grid& b) {
    Grid y({2, 2, 5, a.shape[3]});
    for (int n = 0; n < 2; ++n) {
      for (int h = 0; h < 2; ++h) {
        for (int t = 0; t < 5; ++t) {
          for (int d = 0; d < a.shape[3]; ++d)
            y(n, h, t, d) = t < 2 ? a(n, h, t, d) : b(n, h, t - 2, d);
        }
      }
    }
    return y;
  };
  const Grid all_k = joined(past_k, InHeads(k, 2)), all_v = joined(past_v, InHeads(v, 2));
  auto score = [](int64_t, int64_t, int64_t i, int64_t j, double s) {
    return j > i + 2 ? kMinusInfinity : s;
  };
  const auto y = RunGraph(
      "g (float[2,3,32] q, float[2,3,16] k, float[2,3,12] v, float[2,2,2,8] a, float[2,2,2,6] b) "
      "=> (float[2,3,24] y, float[2,2,5,8] c, float[2,2,5,6] d) "
      "{ y, c, d = Attention<q_num_heads = 4, kv_num_heads = 2, is_causal = 1>(q, k, v, , a, b) }",
      23, {q, k, v, past_k, past_v});
  EXPECT_TRUE(
      Near(y.at(0), JoinedHeads(AttentionByLoops(InHeads(q, 4), all_k, all_v, kScale, score))));
  EXPECT_TRUE(Near(y[1], all_k, 0));
  EXPECT_TRUE(Near(y[2], all_v, 0));
}

// The keys of a row end at its length, and the last query sees the last key. A mask may be shorter.
TEST_F(AttentionTest, LengthsOfRows) {
  const Grid lengths = Vector({4, 5}), mask = Random({3, 4}, 10);
  auto score = [&](int64_t b, int64_t, int64_t i, int64_t j, double s) {
    const auto length = static_cast<int64_t>(lengths(b));
    return j >= length || j > i + length - 3 || j >= 4 ? kMinusInfinity : s + mask(i, j);
  };
  const auto y = RunGraph(
      "g (float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,6] v, float[3,4] m, int64[2] n) => "
      "(float[2,4,3,6] y) { y = Attention<is_causal = 1>(q, k, v, m, , , n) }",
      24, {q_, k_, v_, mask, lengths});
  EXPECT_TRUE(Near(y.at(0), AttentionByLoops(q_, k_, v_, kScale, score)));
}

TEST_F(AttentionTest, HalfPrecision) {
  const auto y = RunGraph(
      "g (float16[2,4,3,8] q, float16[2,2,5,8] k, float16[2,2,5,6] v) => (float16[2,4,3,6] y) "
      "{ y = Attention<softmax_precision = 1>(q, k, v) }",
      23, {q_, k_, v_});
  EXPECT_TRUE(Near(y.at(0), AttentionByLoops(q_, k_, v_, kScale, Plain), 2e-3));
}

TEST_F(AttentionTest, Errors) {
  auto error = [](const std::string& keys, const std::string& attributes) {
    return ErrorOfGraph("g (float[1,4,3,8] q, float[" + keys + "] k) => (float[1,4,3,8] y) " +
                            "{ y = Attention<" + attributes + ">(q, k, k) }",
                        23);
  };
  EXPECT_THAT(error("1,3,5,8", "is_causal = 1"), HasSubstr("with K dividing H"));
  EXPECT_THAT(error("1,4,5,7", "is_causal = 1"), HasSubstr("query [1,4,3,8], key [1,4,5,7]"));
  EXPECT_THAT(error("1,4,0,8", "is_causal = 1"),
              HasSubstr("unsupported: Attention (there are no keys)"));
  EXPECT_THAT(error("1,4,5,8", "scale = -1.0"), HasSubstr("scale is -1, it must not be negative"));
  EXPECT_THAT(error("1,4,5,8", "qk_matmul_output_mode = 4"), HasSubstr("it must be 0, 1, 2 or 3"));
  EXPECT_THAT(error("1,4,5,8", "window = 4"), HasSubstr("attribute window is not known"));
}

TEST(FlexAttentionTest, SubgraphsChangeScoresAndProbabilities) {
  const Grid q = Random({1, 2, 3, 4}, 1), k = Random({1, 1, 3, 4}, 2), v = Random({1, 1, 3, 4}, 3);
  Grid expected = AttentionByLoops(
      q, k, v, 0.5, [](int64_t, int64_t, int64_t, int64_t, double s) { return s * s; });
  for (double& x : expected.values) x *= -1;
  const std::string graph =
      "g (float[1,2,3,4] q, float[1,1,3,4] k, float[1,1,3,4] v) => (float[1,2,3,4] y) "
      "{ y = ai.onnx.preview.FlexAttention<"
      "score_mod = a (float[B,H,L,S] s) => (float[B,H,L,S] t) { t = Mul(s, s) }, "
      "prob_mod = c (float[B,H,L,S] p) => (float[B,H,L,S] r) { r = Neg(p) }>(q, k, v) }";
  const auto y = RunGraph(graph, 26, {q, k, v}, "ai.onnx.preview");
  EXPECT_TRUE(Near(y.at(0), expected));
}

// A subgraph may not change the shape.
TEST(FlexAttentionTest, Errors) {
  EXPECT_THAT(ErrorOfGraph("g (float[1,1,3,4] q) => (float[1,1,3,4] y) "
                           "{ y = FlexAttention<score_mod = a (float[B,H,L,S] s) => (float[B] t) "
                           "{ t = ReduceSum<keepdims = 0>(s) }>(q, q, q) }",
                           26, "ai.onnx.preview"),
              HasSubstr("subgraph a must give f32[1,1,3,3]"));
  EXPECT_THAT(ErrorOfGraph("g (float[1,1,3,4] q) => (float[1,1,3,4] y) "
                           "{ y = FlexAttention<window = 2>(q, q, q) }",
                           26, "ai.onnx.preview"),
              HasSubstr("unsupported: FlexAttention (attribute window)"));
}

TEST(TensorScatterTest, WritesRowsAtTheirPositions) {
  const Grid cache = Random({2, 4, 3}, 1), update = Random({2, 2, 3}, 2);
  for (const bool circular : {false, true}) {
    const Grid starts = Vector({1, circular ? 3.0 : 2.0});
    Grid expected = cache;
    for (int b = 0; b < 2; ++b) {
      for (int t = 0; t < 2; ++t) {
        for (int d = 0; d < 3; ++d) {
          expected(b, (static_cast<int64_t>(starts(b)) + t) % 4, d) = update(b, t, d);
        }
      }
    }
    const std::string mode = circular ? "circular" : "linear";
    const auto y = RunGraph(
        "g (float[2,4,3] c, float[2,2,3] u, int64[2] w) => (float[2,4,3] y) "
        "{ y = TensorScatter<axis = 1, mode = \"" +
            mode + "\">(c, u, w) }",
        24, {cache, update, starts});
    EXPECT_TRUE(Near(y.at(0), expected, 0)) << mode;
  }
  EXPECT_THAT(ErrorOfGraph("g (float[2,4,3] c, float[2,5,3] u) => (float[2,4,3] y) "
                           "{ y = TensorScatter(c, u) }",
                           24),
              HasSubstr("an update [2,5,3] at axis 1 does not fit [2,4,3]"));
}

// The recurrence of LinearAttention, one step after the other.
struct Recurrence {
  Grid output, state;
};
Recurrence LinearByLoops(const Grid& q, const Grid& k, const Grid& v, Grid s, const Grid* decay,
                         const Grid* beta, double scale) {
  const int64_t heads = q.shape[1], group = heads / k.shape[1], size = v.shape[3];
  Grid y({q.shape[0], heads, q.shape[2], size});
  for (int64_t b = 0; b < q.shape[0]; ++b) {
    for (int64_t t = 0; t < q.shape[2]; ++t) {
      for (int64_t h = 0; h < k.shape[1]; ++h) {
        for (int64_t e = 0; e < size; ++e) {
          double known = 0;
          for (int64_t d = 0; d < k.shape[3]; ++d) {
            if (decay != nullptr) s(b, h, d, e) *= std::exp((*decay)(b, t, h));
            known += s(b, h, d, e) * k(b, h, t, d);
          }
          const double written =
              beta == nullptr ? v(b, h, t, e) : (*beta)(b, t, 0) * (v(b, h, t, e) - known);
          for (int64_t d = 0; d < k.shape[3]; ++d) s(b, h, d, e) += k(b, h, t, d) * written;
        }
      }
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t e = 0; e < size; ++e) {
          for (int64_t d = 0; d < k.shape[3]; ++d) {
            y(b, h, t, e) += scale * q(b, h, t, d) * s(b, h / group, d, e);
          }
        }
      }
    }
  }
  return {y, s};
}

TEST(LinearAttentionTest, UpdateRules) {
  const Grid q = Random({2, 3, 16}, 1), k = Random({2, 3, 8}, 2), v = Random({2, 3, 6}, 3);
  const Grid past = Random({2, 2, 4, 3}, 4), decay = Random({2, 3, 2}, 5),
             beta = Random({2, 3, 1}, 6);
  for (const std::string rule : {"linear", "gated", "delta", "gated_delta"}) {
    const bool gated = rule[0] == 'g', delta = rule.find("delta") != std::string::npos;
    const Recurrence expected =
        LinearByLoops(InHeads(q, 4), InHeads(k, 2), InHeads(v, 2), past, gated ? &decay : nullptr,
                      delta ? &beta : nullptr, 0.5);
    std::vector<Grid> inputs = {q, k, v, past};
    std::string names = "float[2,3,16] q, float[2,3,8] k, float[2,3,6] v, float[2,2,4,3] s";
    if (gated) names += ", float[2,3,2] d";
    if (delta) names += ", float[2,3,1] b";
    if (gated) inputs.push_back(decay);
    if (delta) inputs.push_back(beta);
    const auto y = RunGraph(
        "g (" + names + ") => (float[2,3,12] y, float[2,2,4,3] z) { y, z = LinearAttention<" +
            "q_num_heads = 4, kv_num_heads = 2, update_rule = \"" + rule + "\">(q, k, v, s" +
            (gated ? ", d" : ", ") + (delta ? ", b" : "") + ") }",
        27, inputs);
    EXPECT_TRUE(Near(y.at(0), JoinedHeads(expected.output))) << rule;
    EXPECT_TRUE(Near(y[1], expected.state)) << rule;
  }
}

TEST(LinearAttentionTest, Errors) {
  auto error = [](const std::string& attributes) {
    return ErrorOfGraph("g (float[2,3,8] q) => (float[2,3,8] y) { y = LinearAttention<" +
                            attributes + ">(q, q, q) }",
                        27);
  };
  EXPECT_THAT(error("q_num_heads = 2, kv_num_heads = 2"),
              HasSubstr("update_rule gated_delta needs decay and needs beta"));
  EXPECT_THAT(error("q_num_heads = 2, kv_num_heads = 3, update_rule = \"linear\""),
              HasSubstr("q_num_heads 2 must be a multiple of kv_num_heads 3"));
  EXPECT_THAT(error("q_num_heads = 2, kv_num_heads = 2, update_rule = \"cubic\""),
              HasSubstr("update_rule is cubic"));
}

TEST(CausalConvTest, StateBiasAndActivation) {
  const Grid x = Random({2, 3, 4}, 1), w = Random({3, 1, 3}, 2), bias = Random({3}, 3),
             past = Random({2, 3, 2}, 4);
  Grid expected({2, 3, 4}), state({2, 3, 2});
  auto at = [&](int b, int c, int t) { return t < 2 ? past(b, c, t) : x(b, c, t - 2); };
  for (int b = 0; b < 2; ++b) {
    for (int c = 0; c < 3; ++c) {
      for (int t = 0; t < 4; ++t) {
        double s = bias(c);
        for (int i = 0; i < 3; ++i) s += w(c, 0, i) * at(b, c, t + i);
        expected(b, c, t) = s / (1 + std::exp(-s));
      }
      for (int t = 0; t < 2; ++t) state(b, c, t) = at(b, c, t + 4);
    }
  }
  const auto y = RunGraph(
      "g (float[2,3,4] x, float[3,1,3] w, float[3] b, float[2,3,2] p) => "
      "(float[2,3,4] y, float[2,3,2] s) "
      "{ y, s = CausalConvWithState<activation = \"silu\">(x, w, b, p) }",
      27, {x, w, bias, past});
  EXPECT_TRUE(Near(y.at(0), expected));
  EXPECT_TRUE(Near(y[1], state, 0));
}

TEST(CausalConvTest, AKernelOfOneHasNoState) {
  const Grid x = Random({1, 2, 3}, 1);
  Grid expected = x;
  for (double& value : expected.values) value *= 2;
  const auto y = RunGraph(
      "g (float[1,2,3] x, float[2,1,1] w) => (float[1,2,3] y, float[1,2,0] s) "
      "{ y, s = CausalConvWithState(x, w) }",
      27, {x, Grid({2, 1, 1}, 2)});
  EXPECT_TRUE(Near(y.at(0), expected, 0));
  EXPECT_EQ(y[1].shape, (Shape{1, 2, 0}));
}

}  // namespace
}  // namespace lemma
