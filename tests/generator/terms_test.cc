#include "generator/sets/terms.h"

#include "generator/sets/taso_set.h"
#include "gtest/gtest.h"

namespace lemma::generator {
namespace {

// Variants: 0 matmul, 1 add, 2 relu, 3 concat1_2d, 4 split1.
class TermsTest : public ::testing::Test {
 protected:
  static constexpr int kMatmul = 0, kAdd = 1, kRelu = 2, kConcat = 3, kSplit = 4;
  TermsTest() : set_(*TasoSet({"matmul", "add", "relu", "concat1_2d", "split1"})) {}
  std::string Key(const NumberedGraph& graph) { return WithoutNames(*set_, {graph, graph}).key; }

  std::unique_ptr<OperatorSet> set_;
  // relu(relu(v)) => relu(v)
  const Pair relu_twice_ = {{{{kRelu, {-1}}, {kRelu, {0}}}, {2}}, {{{kRelu, {-1}}}, {0}}};
  // a·b, a·c => split(a·(b | c))
  const Pair merge_ = {{{{kMatmul, {-1, -2}}, {kMatmul, {-1, -3}}}, {0, 2}},
                       {{{kConcat, {-2, -3}}, {kMatmul, {-1, 0}}, {kSplit, {2}}}, {4, 5}}};
};

TEST_F(TermsTest, KeysForgetTheOrderOfOperators) {
  const NumberedGraph a = {{{kRelu, {-1}}, {kMatmul, {-1, -2}}, {kAdd, {0, 2}}}, {4}};
  const NumberedGraph b = {{{kMatmul, {-1, -2}}, {kRelu, {-1}}, {kAdd, {0, 2}}}, {4}};
  const NumberedGraph c = {{{kMatmul, {-1, -2}}, {kRelu, {-2}}, {kAdd, {0, 2}}}, {4}};
  EXPECT_EQ(Key(a), Key(b));
  EXPECT_NE(Key(a), Key(c));
  // Operands of matmul have an order.
  EXPECT_NE(Key({{{kMatmul, {-1, -2}}, {kRelu, {-1}}}, {0, 2}}),
            Key({{{kMatmul, {-2, -1}}, {kRelu, {-1}}}, {0, 2}}));
  EXPECT_EQ(Key({{{kAdd, {-1, -2}}}, {0}}), Key({{{kAdd, {-2, -1}}}, {0}}));
}

TEST_F(TermsTest, NamesAreForgotten) {
  const Pair a = {{{{kRelu, {-4}}, {kRelu, {0}}}, {2}}, {{{kRelu, {-4}}}, {0}}};
  EXPECT_EQ(WithoutNames(*set_, a).key, WithoutNames(*set_, relu_twice_).key);
  EXPECT_NE(WithoutNames(*set_, a).key, WithoutNames(*set_, merge_).key);
  EXPECT_EQ(WithoutNames(*set_, a).inputs, std::vector<int>{-4});
  EXPECT_EQ(WithoutNames(*set_, merge_).num_variables, 3);
  EXPECT_TRUE(WithoutNames(*set_, merge_).covers);
}

}  // namespace
}  // namespace lemma::generator
