// Which differences the referee of random tests excuses.
#include "runtime/reference/definitions_referee.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

std::vector<Tensor> Floats(std::vector<double> values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return {*Tensor::FromDoubles({DType::kF32, shape}, values)};
}

// What the referee says of `actual` if an execution computes that, whatever the inputs are.
std::string FaultOf(std::vector<double> input, std::vector<double> actual) {
  const DefinitionsReferee referee(
      GraphWithWeights("graph g(x: f32[3], s: weight f32[3] = [1, 1, 1]) {"
                       " y = layer_norm(x, s) return y }"),
      Floats(std::move(input)));
  EXPECT_TRUE(referee.expected().ok()) << referee.expected().status();
  const std::vector<Tensor> outputs = Floats(std::move(actual));
  return referee.FaultOf(outputs, [&](const std::vector<Tensor>&) { return outputs; });
}

// In float, the variance is infinite: the deviations become 0. In double it is 2e57.
TEST(DefinitionsRefereeTest, ALocalThatOverflowsInFloatIsExcused) {
  EXPECT_EQ(FaultOf({0, 0, -4e28}, {0.7071068, 0.7071068, -1.414214}), "");
  EXPECT_EQ(FaultOf({0, 0, -4e28}, {0, 0, 0}), "");
}

TEST(DefinitionsRefereeTest, OtherNumbersAreNot) {
  EXPECT_NE(FaultOf({0, 0, -4e28}, {0, 0, 1}), "");
  EXPECT_NE(FaultOf({0, 0, -4}, {0, 0, 0}), "");
}

}  // namespace
}  // namespace lemma
