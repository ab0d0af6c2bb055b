#include <cmath>
#include <functional>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/op_testutil.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

struct UnaryCase {
  const char* op;
  std::function<double(double)> expected;
  Attrs attrs;
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Elementwise, RoundTf32GoesToElevenBits) {
  const std::pair<float, float> cases[] = {
      {1, 1},
      {1 + 0x1p-11F, 1 + 0x1p-10F},  // halfway: away from 0
      {-1 - 0x1p-11F, -1 - 0x1p-10F},
      {1 + 3 * 0x1p-11F, 1 + 2 * 0x1p-10F},
      {1 + 0x1p-11F - 0x1p-23F, 1},
      {2 - 0x1p-23F, 2},
      {-0.0F, -0.0F},
      {0x1p-126F + 0x1p-137F, 0x1p-126F + 0x1p-136F},
      {0x1p-137F, 0x1p-136F},  // below 2^-126: multiples of 2^-136
      {0x1p-138F, 0},
      {-0x1p-149F, -0.0F},
      {0x1.ffep127F, std::numeric_limits<float>::infinity()},
      {0x1.ffdffep127F, 0x1.ffcp127F},
      {std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()},
      {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()}};
  for (const auto& [x, y] : cases) {
    const double result = Eval1("round_tf32", {Arg({}, {x})})[0];
    EXPECT_EQ(result, y) << x;
    EXPECT_EQ(std::signbit(result), std::signbit(y)) << x;
  }
  EXPECT_TRUE(std::isnan(Eval1("round_tf32", {Arg({}, {NAN})})[0]));
  EXPECT_THAT(TypeOf("round_tf32", {{DType::kF64, {2}}}),
              HasSubstr("element type must be f32, not f64; cast it"));
}

TEST(Elementwise, AgreesWithItsFunction) {
  const UnaryCase cases[] = {
      {"relu", [](double x) { return x > 0 ? x : 0; }, {}},
      {"leaky_relu", [](double x) { return x > 0 ? x : 0.1 * x; }, {{"alpha", 0.1}}},
      {"sigmoid", Sigmoid, {}},
      {"silu", [](double x) { return x * Sigmoid(x); }, {}},
      {"mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, {}},
      {"gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }, {}},
      {"gelu_tanh",
       [](double x) {
         return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       },
       {}},
      {"softplus", [](double x) { return std::log1p(std::exp(x)); }, {}},
      {"softsign", [](double x) { return x / (1 + std::fabs(x)); }, {}},
      {"elu", [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }, {{"alpha", 0.5}}},
      {"selu",
       [](double x) { return 2 * (x > 0 ? x : 3 * std::expm1(x)); },
       {{"alpha", 3.0}, {"gamma", 2.0}}},
      {"celu",
       [](double x) { return std::fmax(0, x) + std::fmin(0, 2 * std::expm1(x / 2)); },
       {{"alpha", 2.0}}},
      {"thresholded_relu", [](double x) { return x > 1 ? x : 0; }, {}},
      {"hard_sigmoid", [](double x) { return std::fmax(0, std::fmin(1, 0.2 * x + 0.5)); }, {}},
      {"hard_swish", [](double x) { return x * std::fmax(0, std::fmin(1, x / 6 + 0.5)); }, {}},
      {"shrink",
       [](double x) { return x < -1  ? x + 0.5
                             : x > 1 ? x - 0.5
                                     : 0; },
       {{"bias", 0.5}, {"lambda", 1.0}}},
      {"clip",
       [](double x) { return std::fmax(-1, std::fmin(2, x)); },
       {{"min", -1.0}, {"max", 2.0}}},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, {}},
      {"reciprocal", [](double x) { return 1 / x; }, {}},
      {"sign", [](double x) { return x > 0   ? 1
                                     : x < 0 ? -1
                                             : 0; }, {}},
      {"round", [](double x) { return std::nearbyint(x); }, {}},
      {"scalar_mul", [](double x) { return -3 * x; }, {{"alpha", -3.0}}},
  };
  const std::vector<double> xs = {-7, -2.5, -1, -0.5, 0.25, 1, 1.5, 8};
  for (const UnaryCase& test : cases) {
    std::vector<double> got = Eval1(test.op, {Arg({8}, xs)}, test.attrs);
    ASSERT_EQ(got.size(), xs.size());
    for (size_t i = 0; i < xs.size(); ++i) {
      const double want = test.expected(xs[i]);
      if (std::isnan(want)) continue;
      EXPECT_NEAR(got[i], want, 1e-12 * (1 + std::fabs(want))) << test.op << "(" << xs[i] << ")";
    }
  }
}

TEST(Elementwise, LargeArgumentsDoNotOverflow) {
  EXPECT_THAT(Eval1("softplus", {Arg({2}, {1000, -1000})}), ElementsAre(1000, 0));
  EXPECT_THAT(Eval1("sigmoid", {Arg({2}, {1000, -1000})}), ElementsAre(1, 0));
  EXPECT_THAT(Eval1("elu", {Arg({1}, {1000})}), ElementsAre(1000));
}

TEST(Elementwise, NothingIsComparableWithNan) {
  Arg x({4}, {NAN, 1, 2, 3}), y({4}, {1, NAN, 2, 1});
  EXPECT_THAT(Eval1("less_equal", {x, y}), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(Eval1("greater_equal", {x, y}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Eval1("greater", {x, y}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Eval1("equal", {x, y}), ElementsAre(0, 0, 1, 0));
}

TEST(Elementwise, InfinityOfOneSign) {
  Arg x({4}, {kInf, -kInf, 3, NAN});
  EXPECT_THAT(Eval1("is_inf", {x}), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(Eval1("is_inf", {x}, {{"detect_negative", int64_t{0}}}), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(Eval1("is_inf", {x}, {{"detect_positive", int64_t{0}}}), ElementsAre(0, 1, 0, 0));
}

TEST(Elementwise, IntegersDivideTowardsZero) {
  Arg a({4}, {7, -7, 7, -7}, DType::kI64), b({4}, {2, 2, -2, -2}, DType::kI64);
  EXPECT_THAT(Eval1("div", {a, b}), ElementsAre(3, -3, -3, 3));
  EXPECT_THAT(Eval1("mod", {a, b}), ElementsAre(1, 1, -1, -1));
  EXPECT_THAT(Eval1("fmod", {a, b}), ElementsAre(1, -1, 1, -1));
}

TEST(Elementwise, BroadcastsBothWays) {
  Arg column({2, 1}, {10, 20}), row({3}, {1, 2, 3});
  EXPECT_THAT(Eval1("sub", {column, row}), ElementsAre(9, 8, 7, 19, 18, 17));
  EXPECT_THAT(Eval1("where", {Arg({2, 1}, {1, 0}, DType::kBool), row, Arg({}, {0})}),
              ElementsAre(1, 2, 3, 0, 0, 0));
  EXPECT_EQ(TypeOf("add", {{DType::kF32, {0, 1}}, {DType::kF32, {3}}}), "f32[0,3]");
  EXPECT_EQ(TypeOf("less", {{DType::kF32, {}}, {DType::kF32, {2}}}), "bool[2]");
}

TEST(Elementwise, SymbolsMustAgree) {
  EXPECT_THAT(Requirements("add", {{"m", "n"}, {"n"}}), ElementsAre());
  EXPECT_THAT(Requirements("add", {{"m", "1"}, {"n"}}), ElementsAre());
  EXPECT_THAT(Requirements("add", {{"m"}, {"n"}}).size(), 1);
}

TEST(Elementwise, Truth) {
  Arg a({4}, {0, 0, 1, 1}, DType::kBool), b({4}, {0, 1, 0, 1}, DType::kBool);
  EXPECT_THAT(Eval1("and", {a, b}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Eval1("or", {a, b}), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(Eval1("xor", {a, b}), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(Eval1("not", {b}), ElementsAre(1, 0, 1, 0));
}

TEST(Elementwise, BitwiseAnd) {
  Arg a({4}, {12, -1, -128, 7}, DType::kI8), b({4}, {10, 5, -127, 0}, DType::kI8);
  EXPECT_THAT(Eval1("bitwise_and", {a, b}), ElementsAre(8, 5, -128, 0));
  Arg u({2}, {255, 170}, DType::kU8);
  EXPECT_THAT(Eval1("bitwise_and", {u, Arg({}, {15}, DType::kU8)}), ElementsAre(15, 10));
  EXPECT_THAT(TypeOf("bitwise_and", {{DType::kF32, {2}}, {DType::kF32, {2}}}),
              HasSubstr("the element type must be an integer, not f32"));
}

TEST(Elementwise, Casts) {
  Arg x({4}, {-1.7, 0, 0.5, 2.9});
  EXPECT_THAT(Eval1("cast", {x}, {{"dtype", "i64"}}), ElementsAre(-1, 0, 0, 2));
  EXPECT_THAT(Eval1("cast", {x}, {{"dtype", "bool"}}), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(TypeOf("cast", {x.type}, {{"dtype", "i7"}}), HasSubstr("no element type i7"));
}

TEST(Elementwise, PreluSlopesBroadcast) {
  Arg x({2, 2}, {-1, 2, -3, -4}), slope({2, 1}, {10, 100});
  EXPECT_THAT(Eval1("prelu", {x, slope}), ElementsAre(-10, 2, -300, -400));
}

TEST(Elementwise, ErrorsNameSizesAndTypes) {
  EXPECT_EQ(TypeOf("add", {{DType::kF32, {2, 3}}, {DType::kF32, {2}}}),
            "add(f32[2,3], f32[2]): the sizes 3 and 2 in dimension -1 must be equal, or one of "
            "them 1");
  EXPECT_EQ(TypeOf("mul", {{DType::kF32, {2}}, {DType::kI64, {2}}}),
            "mul(f32[2], i64[2]): operands must have one element type, not f32 and i64; cast one "
            "of them");
  EXPECT_EQ(TypeOf("exp", {{DType::kI64, {2}}}),
            "exp(i64[2]): the element type must be f32, f64, f16 or bf16, not i64");
}

}  // namespace
}  // namespace lemma
