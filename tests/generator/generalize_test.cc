#include "generator/derivation/generalize.h"

#include <algorithm>

#include "generator/derivation/precedence.h"
#include "generator/sets/taso_set.h"
#include "generator/sets/terms.h"
#include "gtest/gtest.h"

namespace lemma::generator {
namespace {

// Variants: 0 matmul, 1 add, 2 relu.
class GeneralizeTest : public ::testing::Test {
 protected:
  static constexpr int kMatmul = 0, kAdd = 1, kRelu = 2;
  GeneralizeTest()
      : set_(*TasoSet({"matmul", "add", "relu"})), evaluator_(set_.get(), 1), store_(set_.get()) {}

  // "m1" … "m3" are 4×4.
  int Matrix(int number) const {
    for (size_t i = 0; i < set_->inputs().size(); ++i) {
      if (set_->inputs()[i].name == "m" + std::to_string(number)) {
        return InputValue(static_cast<int>(i));
      }
    }
    return 0;
  }
  std::string Text(const Pair& pair) {
    auto general = Generalized(&evaluator_, &store_, pair);
    if (!general.ok()) return general.status().ToString();
    return ToString(*set_, WithoutNames(*set_, general->pair).pair, Names::kVariables);
  }

  std::unique_ptr<OperatorSet> set_;
  Evaluator evaluator_;
  TermStore store_;
};

// relu(a)·(b + c) = relu(a)·b + relu(a)·c holds for any matrix in place of relu(a).
TEST_F(GeneralizeTest, WhatBothSidesComputeIsAVariable) {
  const int a = Matrix(1), b = Matrix(2), c = Matrix(3);
  EXPECT_EQ(Text({{{{kRelu, {a}}, {kAdd, {b, c}}, {kMatmul, {0, 2}}}, {4}},
                  {{{kRelu, {a}}, {kMatmul, {0, b}}, {kMatmul, {0, c}}, {kAdd, {2, 4}}}, {6}}}),
            "matmul(x3, add(x1, x2)) => add(matmul(x3, x1), matmul(x3, x2))");
}

// With s = a + b: s·s = a·s + b·s, and the two factors may be different variables.
TEST_F(GeneralizeTest, WhatIsUsedTwiceMayBeTwoThings) {
  const int a = Matrix(1), b = Matrix(2);
  EXPECT_EQ(Text({{{{kAdd, {a, b}}, {kMatmul, {0, 0}}}, {2}},
                  {{{kAdd, {a, b}}, {kMatmul, {a, 0}}, {kMatmul, {b, 0}}, {kAdd, {2, 4}}}, {6}}}),
            "matmul(add(x1, x2), x3) => add(matmul(x1, x3), matmul(x2, x3))");
}

// relu(relu(a)) = relu(a), but relu(b) is not b.
TEST_F(GeneralizeTest, KeepsWhatMatters) {
  const int a = Matrix(1);
  EXPECT_EQ(Text({{{{kRelu, {a}}, {kRelu, {0}}}, {2}}, {{{kRelu, {a}}}, {0}}}),
            "relu(relu(x1)) => relu(x1)");
}

// Variants: 0 scale, 1 conv1x3. A scale can stand behind a convolution, or before either of its
// operands.
TEST(PrecedenceTest, WhatGoesIntoMoreOperandsComesLater) {
  auto set = *TasoSet({"scale", "conv1x3"});
  const Pair exchange = {{{{0, {-1, -2}}, {1, {0, -3}}}, {2}},
                         {{{0, {-3, -2}}, {1, {-1, 0}}}, {2}}};
  const Pair outside = {{{{0, {-1, -2}}, {1, {0, -3}}}, {2}}, {{{1, {-1, -3}}, {0, {0, -2}}}, {2}}};
  const auto places = PrecedenceOf(*set, {&exchange, &outside});
  EXPECT_GT(places[1], places[0]);
  EXPECT_LT(PrecedenceOf(*set, {})[1], PrecedenceOf(*set, {})[0]);
}

}  // namespace
}  // namespace lemma::generator
