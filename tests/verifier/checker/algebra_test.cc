// Canonical forms: values that are equal under a level's laws are one value; others are not.
#include "verifier/checker/algebra.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace lemma::checker {
namespace {

class AlgebraTest : public testing::Test {
 protected:
  explicit AlgebraTest(Level level) : a_(level, &work_) {}
  Value X(int i) { return a_.Input(0, i, DType::kF32); }
  Value C(double value) { return a_.Constant(value); }
  Value Call(ScalarFn fn, const Value& x) { return a_.Apply(fn, {x}); }
  Value Call(ScalarFn fn, const Value& x, const Value& y) { return a_.Apply(fn, {x, y}); }
  Value Add(const Value& x, const Value& y) { return Call(ScalarFn::kAdd, x, y); }
  Value Sub(const Value& x, const Value& y) { return Call(ScalarFn::kSub, x, y); }
  Value Mul(const Value& x, const Value& y) { return Call(ScalarFn::kMul, x, y); }
  Value Div(const Value& x, const Value& y) { return Call(ScalarFn::kDiv, x, y); }
  Value Max(const Value& x, const Value& y) { return Call(ScalarFn::kMax, x, y); }
  Value Exp(const Value& x) { return Call(ScalarFn::kExp, x); }
  bool Same(const Value& x, const Value& y) { return a_.problem().empty() && Algebra::Same(x, y); }

  int64_t work_ = 0;
  Algebra a_;
};

class Ring : public AlgebraTest {
 protected:
  Ring() : AlgebraTest(Level::kRing) {}
};

TEST_F(Ring, PolynomialsAreCanonical) {
  const Value x = X(0), y = X(1);
  EXPECT_TRUE(
      Same(Mul(Add(x, y), Add(x, y)), Add(Add(Mul(x, x), Mul(y, y)), Mul(C(2), Mul(y, x)))));
  EXPECT_FALSE(Same(Mul(Add(x, y), Add(x, y)), Add(Mul(x, x), Mul(y, y))));
  EXPECT_TRUE(Same(Sub(x, x), C(0)));
  EXPECT_TRUE(Same(Div(Add(x, x), C(2)), x));
  EXPECT_TRUE(Same(Add(Div(x, C(3)), Div(x, C(6))), Div(x, C(2))));
  // 0.1 is no short fraction, but x·0.1 + x·0.1 is 2·(0.1·x).
  EXPECT_TRUE(Same(Add(Mul(C(0.1), x), Mul(C(0.1), x)), Mul(Mul(C(2), x), C(0.1))));
  EXPECT_TRUE(Same(Add(C(-0.1), C(0.1)), C(0)));
}

TEST_F(Ring, OddAndEvenFunctions) {
  const Value x = X(0), y = X(1);
  for (ScalarFn fn : {ScalarFn::kSign, ScalarFn::kErf, ScalarFn::kTanh, ScalarFn::kAtan}) {
    EXPECT_TRUE(Same(Call(fn, Sub(x, y)), Sub(C(0), Call(fn, Sub(y, x)))));
    EXPECT_FALSE(Same(Call(fn, Sub(x, y)), Call(fn, Sub(y, x))));
    EXPECT_TRUE(Same(Call(fn, C(0)), C(0)));
  }
  EXPECT_TRUE(Same(Call(ScalarFn::kCos, Sub(x, y)), Call(ScalarFn::kCos, Sub(y, x))));
  EXPECT_TRUE(Same(Call(ScalarFn::kCosh, C(0)), C(1)));
  EXPECT_FALSE(Same(Call(ScalarFn::kAcos, Sub(x, y)), Call(ScalarFn::kAcos, Sub(y, x))));
  EXPECT_FALSE(Same(Exp(Sub(x, y)), Exp(Sub(y, x))));
}

TEST_F(Ring, MaximaAreSetsThatSumsMove) {
  const Value x = X(0), y = X(1), z = X(2);
  EXPECT_TRUE(Same(Max(Max(x, y), z), Max(y, Max(z, Max(x, y)))));
  EXPECT_TRUE(Same(Max(Add(x, z), Add(y, z)), Add(z, Max(x, y))));
  EXPECT_TRUE(Same(Max(Mul(C(3), x), Mul(C(3), y)), Mul(C(3), Max(x, y))));
  EXPECT_TRUE(Same(Max(x, Sub(x, C(1))), x));
  EXPECT_TRUE(Same(Max(Add(Max(x, y), z), x), Max(Max(Add(x, z), x), Add(y, z))));
  EXPECT_TRUE(Same(Call(ScalarFn::kAbs, Sub(x, y)), Call(ScalarFn::kAbs, Sub(y, x))));
  EXPECT_FALSE(Same(Max(Mul(C(-1), x), Mul(C(-1), y)), Mul(C(-1), Max(x, y))));
  EXPECT_FALSE(Same(Add(Max(x, y), Max(x, z)), Add(x, Max(y, z))));
  EXPECT_TRUE(Same(Max(x, C(-INFINITY)), x));
}

TEST_F(Ring, OfThreeOnALineTheMiddleOneIsNoMaximum) {
  const Value x = X(0), y = X(1), minus_x = Sub(C(0), x);
  auto abs = [&](const Value& v) { return Call(ScalarFn::kAbs, v); };
  EXPECT_TRUE(Same(Max(abs(x), C(0)), abs(x)));
  EXPECT_TRUE(Same(abs(abs(x)), abs(x)));
  EXPECT_TRUE(Same(Max(Max(x, y), Div(Add(x, y), C(2))), Max(x, y)));
  EXPECT_FALSE(Same(Max(Max(x, minus_x), Mul(C(2), x)), Max(x, minus_x)));
  EXPECT_FALSE(Same(Max(Max(x, y), Sub(Mul(C(2), x), y)), Max(x, y)));
  EXPECT_FALSE(Same(Max(Max(x, y), C(0)), Max(x, y)));
}

TEST_F(Ring, TruthValuesAndConditions) {
  const Value x = X(0), y = X(1), less = Call(ScalarFn::kLess, x, y);
  EXPECT_TRUE(Same(Mul(less, less), less));
  EXPECT_TRUE(Same(Call(ScalarFn::kLess, Mul(C(2), x), Mul(C(2), y)), less));
  EXPECT_FALSE(Same(Call(ScalarFn::kLess, y, x), less));
  EXPECT_TRUE(Same(Call(ScalarFn::kEqual, x, y), Call(ScalarFn::kEqual, y, x)));
  EXPECT_TRUE(Same(a_.Apply(ScalarFn::kWhere, {less, x, x}), x));
  EXPECT_TRUE(Same(Call(ScalarFn::kNot, Call(ScalarFn::kNot, less)), less));
  const Value flag = a_.Input(1, 0, DType::kBool);
  EXPECT_TRUE(Same(Call(ScalarFn::kAnd, flag, flag), flag));
}

TEST_F(Ring, LawsOfStrongerLevelsAreNotUsed) {
  const Value x = X(0), y = X(1);
  EXPECT_FALSE(Same(Mul(Exp(x), Exp(y)), Exp(Add(x, y))));
  EXPECT_TRUE(a_.ApproximatelyEqual(Mul(Exp(x), Exp(y)), Exp(Add(x, y))));
  EXPECT_FALSE(Same(Div(x, x), C(1)));
  const Value r = Max(x, C(0));
  EXPECT_FALSE(Same(Mul(r, r), Mul(x, r)));
  EXPECT_FALSE(a_.ApproximatelyEqual(Exp(Add(x, y)), Add(Exp(x), Exp(y))));
}

TEST_F(Ring, OverflowAndInfinityAreNoValues) {
  Value x = C(1 << 20);
  for (int i = 0; i < 4; ++i) x = Mul(x, x);
  EXPECT_NE(a_.problem().find("64 bits"), std::string::npos);
  int64_t work = 0;
  Algebra other(Level::kRing, &work);
  other.Apply(ScalarFn::kSub, {other.Constant(INFINITY), other.Constant(INFINITY)});
  EXPECT_NE(other.problem().find("infinity"), std::string::npos);
  Algebra third(Level::kRing, &work);
  third.Apply(ScalarFn::kDiv, {third.Integer(1), third.Integer(0)});
  EXPECT_NE(third.problem().find("division by 0"), std::string::npos);
}

class Real : public AlgebraTest {
 protected:
  Real() : AlgebraTest(Level::kReal) {}
};

TEST_F(Real, ExponentialsAndReciprocals) {
  const Value x = X(0), y = X(1), z = X(2);
  EXPECT_TRUE(Same(Mul(Exp(x), Exp(y)), Exp(Add(x, y))));
  EXPECT_TRUE(Same(Div(Exp(x), Exp(x)), C(1)));
  EXPECT_TRUE(Same(Call(ScalarFn::kLog, Mul(Exp(x), y)), Add(x, Call(ScalarFn::kLog, y))));
  EXPECT_TRUE(Same(Div(z, Mul(x, y)), Div(Div(z, y), x)));
  // softmax(x, y) does not change if z is added to both.
  const Value sum = Add(Exp(x), Exp(y)), moved = Add(Exp(Add(x, z)), Exp(Add(y, z)));
  EXPECT_TRUE(Same(Div(Exp(Add(x, z)), moved), Div(Exp(x), sum)));
  EXPECT_TRUE(Same(Exp(Call(ScalarFn::kLog, sum)), sum));
  // These laws do not apply if the logarithm or the quotient may not exist.
  EXPECT_FALSE(Same(Exp(Call(ScalarFn::kLog, x)), x));
  EXPECT_FALSE(Same(Div(x, x), C(1)));
}

TEST_F(Real, SquaresOfMaxima) {
  const Value x = X(0), y = X(1), r = Max(x, C(0)), m = Max(x, y);
  auto abs = [&](const Value& v) { return Call(ScalarFn::kAbs, v); };
  EXPECT_TRUE(Same(Mul(r, r), Mul(x, r)));
  EXPECT_TRUE(Same(Mul(Mul(r, x), Mul(r, r)), Mul(Mul(x, x), Mul(x, r))));
  EXPECT_TRUE(Same(Mul(abs(x), abs(x)), Mul(x, x)));
  EXPECT_TRUE(Same(Mul(m, m), Sub(Mul(m, Add(x, y)), Mul(x, y))));
  EXPECT_FALSE(Same(Mul(r, r), Mul(x, x)));
  EXPECT_FALSE(Same(Mul(m, m), Mul(x, y)));
  EXPECT_FALSE(Same(Mul(r, Max(y, C(0))), Mul(r, y)));
}

class Bits : public AlgebraTest {
 protected:
  Bits() : AlgebraTest(Level::kBits) {}
};

TEST_F(Bits, OnlyWhatHoldsBitByBit) {
  const Value x = X(0), y = X(1), z = X(2);
  EXPECT_TRUE(Same(Add(x, y), Add(y, x)));
  EXPECT_TRUE(Same(Sub(x, y), Add(x, Call(ScalarFn::kNeg, y))));
  EXPECT_TRUE(Same(Mul(C(1), x), x));
  EXPECT_TRUE(Same(Add(x, C(-0.0)), x));
  EXPECT_TRUE(Same(Max(x, Max(y, x)), Max(y, x)));
  EXPECT_TRUE(Same(Max(C(1), Max(x, C(-0.1))), Max(x, C(1))));
  EXPECT_FALSE(Same(Max(C(0), C(-0.0)), C(0)));
  EXPECT_FALSE(Same(Add(x, C(0)), x));
  EXPECT_FALSE(Same(Add(Add(x, y), z), Add(x, Add(y, z))));
  EXPECT_FALSE(Same(Add(x, x), Mul(C(2), x)));
  EXPECT_FALSE(Same(a_.Reduce(ReduceKind::kSum, {x, y}), a_.Reduce(ReduceKind::kSum, {y, x})));
}

// Random expressions at random points: canonical forms against plain arithmetic.
TEST_F(Real, FormsHaveTheValuesOfWhatTheyStandFor) {
  std::mt19937_64 random(1);
  const ScalarFn fns[] = {ScalarFn::kAdd, ScalarFn::kSub, ScalarFn::kMul, ScalarFn::kDiv,
                          ScalarFn::kMax, ScalarFn::kMin, ScalarFn::kAbs, ScalarFn::kExp,
                          ScalarFn::kLog, ScalarFn::kNeg, ScalarFn::kLess};
  int compared = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const int point = static_cast<int>(random() % 6);
    std::vector<std::pair<Value, double>> pool = {{C(2), 2}, {C(-0.5), -0.5}};
    for (int i = 0; i < 3; ++i) pool.emplace_back(X(i), a_.Sample(X(i), point));
    for (int step = 0; step < 7; ++step) {
      const ScalarFn fn = fns[random() % std::size(fns)];
      const auto p = pool[random() % pool.size()], q = pool[random() % pool.size()];
      const double x = p.second, y = q.second;
      const double expected = fn == ScalarFn::kAdd    ? x + y
                              : fn == ScalarFn::kSub  ? x - y
                              : fn == ScalarFn::kMul  ? x * y
                              : fn == ScalarFn::kDiv  ? x / y
                              : fn == ScalarFn::kMax  ? std::max(x, y)
                              : fn == ScalarFn::kMin  ? std::min(x, y)
                              : fn == ScalarFn::kAbs  ? std::abs(x)
                              : fn == ScalarFn::kExp  ? std::exp(x)
                              : fn == ScalarFn::kLog  ? std::log(x)
                              : fn == ScalarFn::kLess ? x < y
                                                      : -x;
      // Near a pole or a discontinuity rounding decides.
      if (!(std::abs(expected) < 20) || (fn == ScalarFn::kDiv && std::abs(y) < 0.01) ||
          (fn == ScalarFn::kLess && std::abs(x - y) < 1e-6)) {
        continue;
      }
      const Value v = Info(fn).arity == 1 ? Call(fn, p.first) : Call(fn, p.first, q.first);
      ASSERT_TRUE(a_.problem().empty()) << a_.problem();
      const double value = a_.Sample(v, point);
      ASSERT_NEAR(value, expected, 1e-6 * (1 + std::abs(expected)))
          << Info(fn).name << " of " << a_.ToString(p.first) << " and " << a_.ToString(q.first)
          << " is " << a_.ToString(v);
      pool.emplace_back(v, expected);
      ++compared;
    }
  }
  EXPECT_GT(compared, 3000);
}

}  // namespace
}  // namespace lemma::checker
