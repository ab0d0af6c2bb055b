#include "kernels/lanes/lane_ops.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lemma {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Case {
  ScalarFn fn;
  std::function<double(double)> exact;
  double from, to, max_ulp;
};

// Units in the last place of the float nearest to `exact`.
double Ulps(float got, double exact) {
  float nearest = static_cast<float>(exact);
  double ulp = std::nextafter(std::fabs(nearest), kInf) - std::fabs(nearest);
  return std::fabs(got - exact) / ulp;
}

TEST(LaneOps, FloatFunctionsAreAccurate) {
  const std::vector<Case> cases = {
      {ScalarFn::kExp, [](double x) { return std::exp(x); }, -87, 88.7, 2},
      {ScalarFn::kLog, [](double x) { return std::log(x); }, 1e-6, 1000, 2},
      {ScalarFn::kLog, [](double x) { return std::log(x); }, 0.5, 2, 2},
      {ScalarFn::kTanh, [](double x) { return std::tanh(x); }, -10, 10, 2},
      {ScalarFn::kErf, [](double x) { return std::erf(x); }, -5, 5, 2},
      {ScalarFn::kSqrt, [](double x) { return std::sqrt(x); }, 0, 100, 0.5},
  };
  constexpr int kSteps = 100000;
  for (const Case& c : cases) {
    std::vector<float> x(kSteps), y(kSteps);
    for (int i = 0; i < kSteps; ++i) {
      x[i] = static_cast<float>(c.from + (c.to - c.from) * i / (kSteps - 1));
    }
    Lanes<float>().unary[static_cast<int>(c.fn)](y.data(), x.data(), kSteps);
    for (int i = 0; i < kSteps; ++i) {
      ASSERT_LE(Ulps(y[i], c.exact(x[i])), c.max_ulp + 1e-6) << Info(c.fn).name << " of " << x[i];
    }
  }
}

TEST(LaneOps, FloatFunctionsAtTheEdges) {
  const float x[] = {0.0f, -0.0f, kInf, -kInf, NAN, 1e-40f, -1e30f, 1e30f, 104.0f, -104.0f};
  for (auto [fn, exact] :
       std::vector<std::pair<ScalarFn, double (*)(double)>>{{ScalarFn::kExp, std::exp},
                                                            {ScalarFn::kLog, std::log},
                                                            {ScalarFn::kTanh, std::tanh},
                                                            {ScalarFn::kErf, std::erf},
                                                            {ScalarFn::kSqrt, std::sqrt}}) {
    float y[10];
    Lanes<float>().unary[static_cast<int>(fn)](y, x, 10);
    for (int i = 0; i < 10; ++i) {
      const float expected = static_cast<float>(exact(x[i]));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(y[i])) << Info(fn).name << " of " << x[i];
      } else if (std::isinf(expected) || expected == 0) {
        EXPECT_EQ(y[i], expected) << Info(fn).name << " of " << x[i];
      } else {
        EXPECT_NEAR(y[i], expected, std::fabs(expected) * 3e-7 + 1.5e-45) << Info(fn).name;
      }
    }
  }
}

TEST(LaneOps, ValueDoesNotDependOnThePlaceAmongLanes) {
  std::vector<float> x(67, 0.7f), y(67);
  for (int fn = 0; fn < kNumScalarFns; ++fn) {
    auto unary = Lanes<float>().unary[fn];
    if (unary == nullptr) continue;
    unary(y.data(), x.data(), 67);
    for (float v : y) {
      EXPECT_TRUE(v == y[0] || std::isnan(v)) << Info(static_cast<ScalarFn>(fn)).name;
    }
  }
}

TEST(LaneOps, ExtremesPropagateNan) {
  const double x[] = {1, NAN, NAN}, y[] = {NAN, 1, NAN};
  double z[3];
  for (ScalarFn fn : {ScalarFn::kMin, ScalarFn::kMax}) {
    Lanes<double>().vv[static_cast<int>(fn)](z, x, y, 3);
    for (double v : z) EXPECT_TRUE(std::isnan(v));
  }
}

// A product and then a sum, each rounded; neither is exact here.
template <class T>
void ExpectTwoRoundings(const LaneOps<T>& ops) {
  constexpr int64_t n = 77;
  std::vector<T> a(n), b(n), c(n), product(n), expected(n), y(n);
  for (int64_t i = 0; i < n; ++i) {
    a[i] = NumberFromDouble<T>(std::sqrt(2.0 + i * 1000));
    b[i] = NumberFromDouble<T>(std::sqrt(3.0 + i * 777) - 300);
    c[i] = NumberFromDouble<T>(std::sqrt(5.0) - 40000 * i);
  }
  const int mul = static_cast<int>(ScalarFn::kMul), add = static_cast<int>(ScalarFn::kAdd),
            sub = static_cast<int>(ScalarFn::kSub);
  for (int vector : {0, 1}) {
    (vector ? ops.vv : ops.vs)[mul](product.data(), a.data(), b.data(), n);
    ops.vv[add](expected.data(), product.data(), c.data(), n);
    ops.mul_plus[vector](y.data(), a.data(), b.data(), c.data(), n);
    EXPECT_TRUE(y == expected);
    ops.vv[sub](expected.data(), product.data(), c.data(), n);
    ops.mul_minus[vector](y.data(), a.data(), b.data(), c.data(), n);
    EXPECT_TRUE(y == expected);
    ops.vv[sub](expected.data(), c.data(), product.data(), n);
    y = c;  // a destination may be an operand
    ops.minus_mul[vector](y.data(), a.data(), b.data(), y.data(), n);
    EXPECT_TRUE(y == expected);
  }
}

TEST(LaneOps, ProductsAreRoundedBeforeSums) {
  ExpectTwoRoundings(Lanes<float>());
  ExpectTwoRoundings(Lanes<double>());
  ExpectTwoRoundings(Lanes<int64_t>());
  ExpectTwoRoundings(Lanes<Field>());
  if (__builtin_cpu_supports("avx2") && lane_internal::FloatLanesAvx2() != nullptr) {
    ExpectTwoRoundings(*lane_internal::FloatLanesAvx2());
    ExpectTwoRoundings(*lane_internal::DoubleLanesAvx2());
  }
}

template <class T>
void ExpectTileMultiplies(const LaneOps<T>& ops = Lanes<T>()) {
  const int64_t depth = 70;
  std::vector<T> a(depth * ops.mr), b(depth * ops.nr), c(ops.mr * (ops.nr + 3));
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(int64_t(i * 7 % 11) - 5);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(int64_t(i * 5 % 13) - 6);
  ops.tile(c.data(), ops.nr + 3, a.data(), b.data(), 40, false);
  ops.tile(c.data(), ops.nr + 3, a.data() + 40 * ops.mr, b.data() + 40 * ops.nr, 30, true);
  for (int i = 0; i < ops.mr; ++i) {
    for (int j = 0; j < ops.nr; ++j) {
      T sum{};
      for (int64_t k = 0; k < depth; ++k) sum = sum + a[k * ops.mr + i] * b[k * ops.nr + j];
      EXPECT_TRUE(c[i * (ops.nr + 3) + j] == sum);
    }
  }
}

TEST(LaneOps, TilesMultiply) {
  ExpectTileMultiplies<double>();
  ExpectTileMultiplies<float>();
  ExpectTileMultiplies<int64_t>();
  ExpectTileMultiplies<Field>();
  ExpectTileMultiplies<Field>(lane_internal::FieldLanesBaseline());
}

// On every instruction set.
TEST(LaneOps, FieldTileOfLargestElements) {
  for (const LaneOps<Field>* ops : {&Lanes<Field>(), &lane_internal::FieldLanesBaseline()}) {
    for (const int64_t depth : {0, 1, 100, 5000}) {
      std::vector<Field> a(depth * ops->mr, Field(-1)), b(depth * ops->nr, Field(-1));
      std::vector<Field> c(ops->mr * ops->nr, Field(-1));
      ops->tile(c.data(), ops->nr, a.data(), b.data(), depth, true);
      for (const Field x : c) ASSERT_EQ(x, Field(depth - 1));
      ops->tile(c.data(), ops->nr, a.data(), b.data(), depth, false);
      for (const Field x : c) ASSERT_EQ(x, Field(depth));
    }
  }
}

// acc + a b and a / b, of elements at the ends of the field, random ones and special ones.
TEST(LaneOps, FieldLanesAreThoseOfSingleElements) {
  std::mt19937_64 random(1);
  std::vector<Field> elements = {Field(),
                                 Field(1),
                                 Field(-1),
                                 Field(2),
                                 Field(-2),
                                 Field((int64_t{1} << 52) - 1),
                                 Field(int64_t{1} << 52),
                                 Field(int64_t{1} << 60),
                                 Field::FromRaw(Field::kPrime - (uint64_t{1} << 52))};
  for (int i = 0; i < 40; ++i) elements.push_back(Field::FromRaw(random() % Field::kPrime));
  for (const bool special : {false, true}) {
    if (special) {
      elements.insert(elements.end(), {Field::Infinity(), Field::NegativeInfinity(), Field::NaN()});
    }
    for (const int64_t n : {0, 1, 7, 8, 9, 1003}) {
      std::vector<Field> a(n), b(n + 1), c(n);
      for (std::vector<Field>* numbers : {&a, &b, &c}) {
        for (Field& x : *numbers) x = elements[random() % elements.size()];
      }
      for (const LaneOps<Field>* ops : {&Lanes<Field>(), &lane_internal::FieldLanesBaseline()}) {
        std::vector<Field> vv = c, vs = c;
        ops->mul_add_vv(vv.data(), a.data(), b.data(), n);
        ops->mul_add_vs(vs.data(), a.data(), b.data(), n);
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(vv[i], c[i] + a[i] * b[i]) << i;
          ASSERT_EQ(vs[i], c[i] + a[i] * b[0]) << i;
        }
        const int div = static_cast<int>(ScalarFn::kDiv);
        std::vector<Field> sv(n);
        vv = a;  // a destination may be an operand
        ops->vv[div](vv.data(), vv.data(), b.data(), n);
        ops->vs[div](vs.data(), a.data(), b.data(), n);
        ops->sv[div](sv.data(), b.data(), a.data(), n);
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(vv[i], a[i] / b[i]) << i;
          ASSERT_EQ(vs[i], a[i] / b[0]) << i;
          ASSERT_EQ(sv[i], b[0] / a[i]) << i;
        }
      }
    }
  }
}

TEST(LaneOps, IntegersWithinARange) {
  std::vector<int64_t> x(37, 5);
  for (const LaneOps<int64_t>* ops : {&Lanes<int64_t>(), lane_internal::IntegerLanesAvx2()}) {
    if (ops == nullptr || !__builtin_cpu_supports("avx2")) continue;
    EXPECT_TRUE(ops->within(x.data(), 5, 5, 37));
    EXPECT_TRUE(ops->within(x.data(), 7, 5, 0));
    for (const int64_t at : {0, 17, 36}) {
      for (const int64_t other : {int64_t{4}, int64_t{6}, std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<int64_t>::max()}) {
        x[at] = other;
        EXPECT_FALSE(ops->within(x.data(), 5, 5, 37)) << at << " " << other;
        x[at] = 5;
      }
    }
  }
}

// Every instruction set gives the same bits.
std::vector<const LaneOps<int64_t>*> IntegerTables() {
  std::vector<const LaneOps<int64_t>*> tables = {&Lanes<int64_t>()};
  if (__builtin_cpu_supports("avx2")) tables.push_back(lane_internal::IntegerLanesAvx2());
  tables.erase(std::remove(tables.begin(), tables.end(), nullptr), tables.end());
  return tables;
}

// Functions of two integers wrap around, and have the same value on every instruction set.
TEST(LaneOps, IntegersOnAllInstructionSets) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> edges = {0,  1,   -1,    2,      -2,         7,
                                      -7, 255, kMost, -kMost, -kMost - 1, 1 << 20};
  std::vector<int64_t> a, b;
  for (const int64_t x : edges) {
    for (const int64_t y : edges) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const auto n = static_cast<int64_t>(a.size());
  std::vector<int64_t> y(a.size());
  for (int fn = 0; fn < kNumScalarFns; ++fn) {
    std::vector<int64_t> expected(a.size());
    if (Lanes<int64_t>().vv[fn] == nullptr) continue;
    // One at a time: not by vectors.
    for (int64_t i = 0; i < n; ++i) Lanes<int64_t>().vv[fn](&expected[i], &a[i], &b[i], 1);
    for (const LaneOps<int64_t>* table : IntegerTables()) {
      table->vv[fn](y.data(), a.data(), b.data(), n);
      EXPECT_EQ(y, expected) << Info(static_cast<ScalarFn>(fn)).name;
      for (int64_t i = 0; i < n; ++i) table->vs[fn](&y[i], &a[i], &b[i], 1);
      EXPECT_EQ(y, expected) << Info(static_cast<ScalarFn>(fn)).name << ", one number";
    }
  }
}

// Remainders and quotients by one number, which are computed in double where that is exact.
TEST(LaneOps, QuotientsAndRemaindersOfIntegersAreExact) {
  constexpr int64_t kLimit = int64_t{1} << 51, kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> divisors = {1,
                                         2,
                                         3,
                                         7,
                                         10,
                                         67108859,
                                         kLimit / 2,
                                         kLimit / 2 + 1,
                                         kLimit,
                                         kMost,
                                         -1,
                                         -3,
                                         kLimit / 2 - 1,
                                         -67108859};
  std::mt19937_64 random(1);
  for (const int64_t s : divisors) {
    // Each group of numbers is one call: the last ones are too large for double.
    for (const int bits : {3, 27, 51, 52, 63}) {
      std::vector<int64_t> x;
      x.reserve(2000);
      for (int i = 0; i < 2000; ++i) {
        x.push_back(static_cast<int64_t>(random() >> (64 - bits)) * (i % 2 == 0 ? 1 : -1));
      }
      if (bits >= 51) x.insert(x.end(), {kLimit - 1, 1 - kLimit, -kLimit});
      if (bits >= 52) x.push_back(kLimit);
      if (bits == 63) x.insert(x.end(), {kMost, -kMost, -kMost - 1});
      for (int64_t k : {-3, -2, -1, 0, 1, 2, 3}) {  // next to multiples
        if (std::abs(s) >= kLimit / 8) continue;
        x.insert(x.end(), {k * s, k * s - 1, k * s + 1});
      }
      for (const LaneOps<int64_t>* table : IntegerTables()) {
        std::vector<int64_t> y(x.size());
        table->vs[static_cast<int>(ScalarFn::kMod)](y.data(), x.data(), &s,
                                                    static_cast<int64_t>(x.size()));
        for (size_t i = 0; i < x.size(); ++i) {
          const __int128 wide = x[i], divisor = s;
          ASSERT_EQ(y[i], static_cast<int64_t>((wide % divisor + divisor) % divisor))
              << "mod(" << x[i] << ", " << s << ")";
        }
        table->vs[static_cast<int>(ScalarFn::kDiv)](y.data(), x.data(), &s,
                                                    static_cast<int64_t>(x.size()));
        for (size_t i = 0; i < x.size(); ++i) {
          ASSERT_EQ(y[i], static_cast<int64_t>(static_cast<__int128>(x[i]) / s))
              << x[i] << " / " << s;
        }
      }
    }
  }
}

TEST(LaneOps, InstructionSetsAgree) {
  std::vector<const LaneOps<float>*> tables;
  if (__builtin_cpu_supports("avx2")) tables.push_back(lane_internal::FloatLanesAvx2());
  if (__builtin_cpu_supports("avx512f")) tables.push_back(lane_internal::FloatLanesAvx512());
  std::vector<float> x(1000), expected(1000), y(1000);
  for (int i = 0; i < 1000; ++i) x[i] = static_cast<float>(i - 500) * 0.013f;
  for (int fn = 0; fn < kNumScalarFns; ++fn) {
    if (Lanes<float>().unary[fn] == nullptr) continue;
    Lanes<float>().unary[fn](expected.data(), x.data(), 1000);
    for (const LaneOps<float>* table : tables) {
      if (table == nullptr) continue;
      table->unary[fn](y.data(), x.data(), 1000);
      for (int i = 0; i < 1000; ++i) {
        EXPECT_TRUE(y[i] == expected[i] || std::isnan(y[i]))
            << Info(static_cast<ScalarFn>(fn)).name;
      }
    }
  }
}

}  // namespace
}  // namespace lemma
