#include "graph/expr/field.h"

#include <cmath>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace lemma {
namespace {

using Fn = ScalarFn;

constexpr double kInf = std::numeric_limits<double>::infinity();

class FieldTest : public testing::Test {
 protected:
  Field Random() { return Field::FromRaw(random_() % Field::kPrime); }
  std::mt19937_64 random_{7};
};

TEST_F(FieldTest, LawsOfAField) {
  for (int i = 0; i < 1000; ++i) {
    Field a = Random(), b = Random(), c = Random();
    EXPECT_EQ(a + b, b + a);
    EXPECT_EQ((a + b) + c, a + (b + c));
    EXPECT_EQ((a * b) * c, a * (b * c));
    EXPECT_EQ(a * (b + c), a * b + a * c);
    EXPECT_EQ(a - a, Field());
    EXPECT_EQ(a * a.Inverse(), Field(1));
    EXPECT_EQ(a / b * b, a);
    EXPECT_EQ(-(-a), a);
  }
}

TEST_F(FieldTest, LargestElementsMultiply) {
  Field last(-1);
  EXPECT_EQ(last.raw(), Field::kPrime - 1);
  EXPECT_EQ(last * last, Field(1));
  EXPECT_EQ(Field(INT64_MIN) + Field(INT64_MAX), Field(-1));
}

TEST_F(FieldTest, IntegersAndDyadicFractionsAreExact) {
  EXPECT_EQ(Field::FromDouble(0.75) * Field(4), Field(3));
  EXPECT_EQ(Field::FromDouble(-1e15), Field(-1000000000000000));
  EXPECT_EQ(Field::FromDouble(std::ldexp(1, -1074)) * Field::FromDouble(std::ldexp(1, 1000)) *
                Field::FromDouble(std::ldexp(1, 74)),
            Field(1));
  EXPECT_EQ(Field::FromDouble(0.1) + Field::FromDouble(0.2),
            Field::FromDouble(0.1) + Field::FromDouble(0.2));
  EXPECT_EQ(Field(-5).Signed(), -5);
  EXPECT_EQ(Field(-5).ToString(), "-5");
}

TEST_F(FieldTest, OrderIsThatOfSignedRepresentatives) {
  EXPECT_EQ(ApplyField(Fn::kLess, Field(-3), Field(2)), Field(1));
  EXPECT_EQ(ApplyField(Fn::kMax, Field(-3), Field(2)), Field(2));
  for (int i = 0; i < 1000; ++i) {
    Field a = Random(), b = Random();
    EXPECT_EQ(ApplyField(Fn::kAbs, a), ApplyField(Fn::kMax, a, -a));
    EXPECT_EQ(ApplyField(Fn::kSign, a) * ApplyField(Fn::kAbs, a), a);
    EXPECT_EQ(ApplyField(Fn::kMin, a, b), -ApplyField(Fn::kMax, -a, -b));
    EXPECT_EQ(ApplyField(Fn::kMin, a, b) + ApplyField(Fn::kMax, a, b), a + b);
  }
}

TEST_F(FieldTest, InfinityIsBeyondAllAndAbsorbs) {
  const Field inf = Field::FromDouble(kInf), minus = Field::FromDouble(-kInf);
  Field a = Random();
  EXPECT_EQ(ApplyField(Fn::kMax, minus, a), a);
  EXPECT_EQ(ApplyField(Fn::kMin, inf, a), a);
  EXPECT_EQ(a + inf, inf);
  EXPECT_EQ(a - inf, minus);
  EXPECT_TRUE((inf + minus).is_nan());
  EXPECT_EQ(inf * Field(-1), minus);
  EXPECT_EQ(ApplyField(Fn::kExp, minus), Field());
  EXPECT_EQ(ApplyField(Fn::kLog, Field()), minus);
  EXPECT_EQ(ApplyField(Fn::kIsInf, minus), Field(1));
  EXPECT_EQ(ApplyField(Fn::kIsNan, Field::FromDouble(NAN)), Field(1));
  EXPECT_EQ(ApplyField(Fn::kTanh, minus), Field(-1));
}

TEST_F(FieldTest, RoundingKeepsSmallIntegersAndIsIdempotent) {
  for (Fn fn : {Fn::kFloor, Fn::kCeil, Fn::kRound, Fn::kTrunc}) {
    EXPECT_EQ(ApplyField(fn, Field(-123456789)), Field(-123456789));
    Field a = ApplyField(fn, Random());
    EXPECT_EQ(ApplyField(fn, a), a);
  }
  Field a = Random();
  EXPECT_EQ(ApplyField(Fn::kCeil, a), -ApplyField(Fn::kFloor, -a));
  EXPECT_EQ(ApplyField(Fn::kMod, Field(-7), Field(3)), Field(2));
  EXPECT_EQ(ApplyField(Fn::kFmod, Field(-7), Field(3)), Field(-1));
}

TEST_F(FieldTest, Powers) {
  Field a = Random();
  EXPECT_EQ(ApplyField(Fn::kPow, a, Field(0)), Field(1));
  EXPECT_EQ(ApplyField(Fn::kPow, a, Field(3)), a * a * a);
  EXPECT_EQ(ApplyField(Fn::kPow, a, Field(-2)) * a * a, Field(1));
  EXPECT_EQ(ApplyField(Fn::kPow, a, Field::FromDouble(0.5)), ApplyField(Fn::kSqrt, a));
}

TEST_F(FieldTest, FunctionsAtTheirLandmarks) {
  for (Fn fn : {Fn::kExp, Fn::kCos, Fn::kCosh}) EXPECT_EQ(ApplyField(fn, Field()), Field(1));
  for (Fn fn : {Fn::kSqrt, Fn::kErf, Fn::kSin, Fn::kTan, Fn::kTanh, Fn::kAtan}) {
    EXPECT_EQ(ApplyField(fn, Field()), Field());
  }
  EXPECT_EQ(ApplyField(Fn::kLog, Field(1)), Field());
  EXPECT_EQ(ApplyField(Fn::kSqrt, Field(1)), Field(1));
}

TEST_F(FieldTest, OraclesAreFunctionsAndTellArgumentsApart) {
  for (int fn = 0; fn < kNumScalarFns; ++fn) {
    Field a = Random(), b = Random(), c = Random();
    EXPECT_EQ(ApplyField(Fn(fn), a, b, c), ApplyField(Fn(fn), a, b, c));
  }
  for (Fn fn : {Fn::kExp, Fn::kLog, Fn::kSqrt, Fn::kErf, Fn::kSin, Fn::kTanh, Fn::kFloor}) {
    Field a = Random();
    EXPECT_NE(ApplyField(fn, a), ApplyField(fn, a + Field(1)));
    EXPECT_NE(ApplyField(fn, a), a);
  }
  Field a = Random();
  EXPECT_EQ(ApplyField(Fn::kTanh, -a), -ApplyField(Fn::kTanh, a));
  EXPECT_EQ(ApplyField(Fn::kCos, -a), ApplyField(Fn::kCos, a));
  EXPECT_NE(ApplyField(Fn::kExp, a), ApplyField(Fn::kLog, a));
  EXPECT_EQ(ApplyField(Fn::kLess, Field(), ApplyField(Fn::kExp, a)), Field(1));
}

}  // namespace
}  // namespace lemma
