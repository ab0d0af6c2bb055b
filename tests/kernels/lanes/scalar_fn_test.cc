// The traits kExact, kOdd and kEven of each function in the table agree with its values.
#include <cmath>
#include <random>
#include <string>

#include "graph/expr/scalar_expr.h"
#include "gtest/gtest.h"
#include "kernels/lanes/lane_ops.h"

namespace lemma {
namespace {

// fn at numbers, in double.
double At(ScalarFn fn, double a, double b, double c) {
  const int i = static_cast<int>(fn);
  const LaneOps<double>& lanes = Lanes<double>();
  double value = 0;
  if (Info(fn).arity == 1) lanes.unary[i](&value, &a, 1);
  if (Info(fn).arity == 2) lanes.vv[i](&value, &a, &b, 1);
  if (Info(fn).arity == 3) lanes.where(&value, &a, &b, 1, &c, 1, 1);
  return value;
}

bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

class ScalarFnTest : public testing::TestWithParam<int> {
 protected:
  ScalarFn fn() const { return static_cast<ScalarFn>(GetParam()); }
  // An f32 of either sign: mostly about 1, sometimes far from it, infinite or NaN.
  double Number() {
    const double values[] = {0, INFINITY, -INFINITY, NAN, 1e-30, -3e30, 0.5, -2.5, -1048577};
    if (random_() % 4 == 0) return static_cast<float>(values[random_() % 9]);
    return static_cast<float>((static_cast<double>(random_() % 100001) - 50000) / 9973);
  }

  std::mt19937 random_{1};
};

TEST_P(ScalarFnTest, IsExactIfTheTableSaysSo) {
  // An f32 stays one, but f16 does not have 65536, to which 60000 is rounded.
  if (fn() == ScalarFn::kStoredF8E8M0) return;
  bool exact = true;
  for (int i = 0; i < 5000; ++i) {
    const double value = At(fn(), Number(), Number(), Number());
    exact = exact && Same(value, static_cast<float>(value));
  }
  EXPECT_EQ(exact, Info(fn()).exact()) << Info(fn()).name;
}

TEST_P(ScalarFnTest, IsSymmetricAsTheTableSays) {
  if (Info(fn()).arity != 1) {
    EXPECT_EQ(Info(fn()).symmetry(), Symmetry::kNone) << Info(fn()).name;
    return;
  }
  bool odd = true, even = true;
  for (int i = 0; i < 5000; ++i) {
    const double x = Number(), value = At(fn(), x, 0, 0), mirrored = At(fn(), -x, 0, 0);
    odd = odd && Same(mirrored, -value);
    even = even && Same(mirrored, value);
  }
  const Symmetry expected = odd ? Symmetry::kOdd : even ? Symmetry::kEven : Symmetry::kNone;
  EXPECT_EQ(Info(fn()).symmetry(), expected) << Info(fn()).name;
}

INSTANTIATE_TEST_SUITE_P(All, ScalarFnTest, testing::Range(0, kNumScalarFns), [](const auto& info) {
  return std::string(Info(static_cast<ScalarFn>(info.param)).name);
});

}  // namespace
}  // namespace lemma
