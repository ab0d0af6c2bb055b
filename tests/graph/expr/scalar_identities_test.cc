// Each row of scalar_identities.inc has the function's value, and a value at the same arguments.
#include <cmath>
#include <vector>

#include "graph/expr/scalar_expr.h"
#include "gtest/gtest.h"
#include "kernels/lanes/lane_ops.h"

namespace lemma {
namespace {

double Exp(double a) { return std::exp(a); }
double Log(double a) { return std::log(a); }
double Sqrt(double a) { return std::sqrt(a); }
double Sin(double a) { return std::sin(a); }
double Cos(double a) { return std::cos(a); }

struct Row {
  ScalarFn fn;
  double (*value)(double);
};
const Row kRows[] = {
#define LEMMA_BY_OTHERS(id, value) {ScalarFn::id, [](double a) -> double { return value; }},
#include "graph/expr/scalar_identities.inc"
};

TEST(ScalarIdentities, HaveTheFunctionsValues) {
  std::vector<double> points = {0, 1, -1, 0.5, -0.5, 2, -2, 1e-3, -1e-3};
  for (double x = -4; x <= 4; x += 0.037) points.push_back(x);
  for (const Row& row : kRows) {
    EXPECT_EQ(Info(row.fn).arity, 1) << Info(row.fn).name;
    int finite = 0;
    for (double x : points) {
      double expected = x;
      Lanes<double>().unary[static_cast<int>(row.fn)](&expected, &expected, 1);
      const double value = row.value(x);
      EXPECT_EQ(std::isfinite(expected), std::isfinite(value)) << Info(row.fn).name << " at " << x;
      if (!std::isfinite(expected)) continue;
      ++finite;
      EXPECT_NEAR(value, expected, 1e-11 * (1 + std::abs(expected))) << Info(row.fn).name << x;
    }
    EXPECT_GE(finite, 30) << Info(row.fn).name;
  }
  EXPECT_GE(std::size(kRows), 7u);
}

}  // namespace
}  // namespace lemma
