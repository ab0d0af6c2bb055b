#include "generator/derivation/derivation.h"

#include "generator/sets/taso_set.h"
#include "gtest/gtest.h"

namespace lemma::generator {
namespace {

constexpr DerivationOptions kProved{DerivationOptions::kProved, true},
    kGuarded{DerivationOptions::kGuarded, true}, kSplitsStay{DerivationOptions::kProved, false};

// Variants: 0 matmul, 1 add, 2 relu, 3 concat1_2d, 4 split1.
class DerivationTest : public ::testing::Test {
 protected:
  static constexpr int kMatmul = 0, kAdd = 1, kRelu = 2, kConcat = 3, kSplit = 4;
  DerivationTest()
      : set_(*TasoSet({"matmul", "add", "relu", "concat1_2d", "split1"})), known_(set_.get()) {}

  int Square() const {
    int square = -1;
    for (const Input& input : set_->inputs()) {
      if (input.name == "m1") square = input.type;
    }
    return square;
  }
  // All variables are 4×4.
  std::vector<int> Terms(const NumberedGraph& graph) {
    return known_.Intern(graph, std::vector<int>(8, Square()));
  }
  bool Joined(const Pair& pair, DerivationOptions options) {
    return known_.AreJoined(Terms(pair.source), Terms(pair.target), options);
  }
  std::vector<int> Derive(const Pair& pair, int except = -1) {
    std::vector<int> pairs;
    auto steps = known_.Derive(Terms(pair.source), Terms(pair.target), kProved, except);
    if (!steps) return {-1};
    for (const DerivationStep& step : *steps) pairs.push_back(step.pair);
    return pairs;
  }

  std::unique_ptr<OperatorSet> set_;
  Derivation known_;
  // relu(relu(v)) => relu(v)
  const Pair relu_twice_ = {{{{kRelu, {-1}}, {kRelu, {0}}}, {2}}, {{{kRelu, {-1}}}, {0}}};
  const Pair relu_thrice_ = {{{{kRelu, {-1}}, {kRelu, {0}}, {kRelu, {2}}}, {4}},
                             {{{kRelu, {-1}}}, {0}}};
  // (a + b) + c => (a + c) + b
  const Pair sum_ = {{{{kAdd, {-1, -2}}, {kAdd, {0, -3}}}, {2}},
                     {{{kAdd, {-1, -3}}, {kAdd, {0, -2}}}, {2}}};
  // a·(b + c) => a·b + a·c
  const Pair distribute_ = {{{{kAdd, {-2, -3}}, {kMatmul, {-1, 0}}}, {2}},
                            {{{kMatmul, {-1, -2}}, {kMatmul, {-1, -3}}, {kAdd, {0, 2}}}, {4}}};
  // split(a | b) => a, b
  const Pair split_ = {{{{kConcat, {-1, -2}}, {kSplit, {0}}}, {2, 3}}, {{}, {-1, -2}}};
  // a·(b | c) => a·b | a·c
  const Pair concat_ = {{{{kConcat, {-2, -3}}, {kMatmul, {-1, 0}}}, {2}},
                        {{{kMatmul, {-1, -2}}, {kMatmul, {-1, -3}}, {kConcat, {0, 2}}}, {4}}};
  // split(a·(b | c)) => a·b, a·c
  const Pair merge_ = {{{{kConcat, {-2, -3}}, {kMatmul, {-1, 0}}, {kSplit, {2}}}, {4, 5}},
                       {{{kMatmul, {-1, -2}}, {kMatmul, {-1, -3}}}, {0, 2}}};
};

TEST_F(DerivationTest, RewritesInsideATerm) {
  known_.Add(relu_twice_, DerivationOptions::kProved);
  EXPECT_TRUE(Joined(relu_thrice_, kProved));
  EXPECT_EQ(Derive(relu_thrice_), (std::vector<int>{0, 0}));
  EXPECT_EQ(Derive(relu_thrice_, 0), std::vector<int>{-1});
  // relu(relu(a)·b) is not relu(a·b).
  EXPECT_FALSE(
      Joined({{{{kRelu, {-1}}, {kMatmul, {0, -2}}}, {2}}, {{{kMatmul, {-1, -2}}}, {0}}}, kProved));
}

// Neither side of the rule is smaller than the other.
TEST_F(DerivationTest, OrdersSumsByTheirTerms) {
  known_.Add(sum_, DerivationOptions::kProved);
  // c + (b + a) and a + (c + b)
  EXPECT_TRUE(Joined(
      {{{{kAdd, {-2, -1}}, {kAdd, {-3, 0}}}, {2}}, {{{kAdd, {-3, -2}}, {kAdd, {-1, 0}}}, {2}}},
      kProved));
  EXPECT_FALSE(Joined(
      {{{{kAdd, {-2, -1}}, {kAdd, {-3, 0}}}, {2}}, {{{kAdd, {-3, -3}}, {kAdd, {-1, 0}}}, {2}}},
      kProved));
}

TEST_F(DerivationTest, MultipliesOut) {
  known_.Add(distribute_, DerivationOptions::kProved);
  known_.Add(sum_, DerivationOptions::kProved);
  known_.ChoosePrecedence();
  // a·((b + c) + d) and a·d + a·(c + b)
  EXPECT_TRUE(
      Joined({{{{kAdd, {-2, -3}}, {kAdd, {0, -4}}, {kMatmul, {-1, 2}}}, {4}},
              {{{kMatmul, {-1, -4}}, {kAdd, {-3, -2}}, {kMatmul, {-1, 2}}, {kAdd, {0, 4}}}, {6}}},
             kProved));
}

// After multiplying out there is no a·(b + c) left to which a pair applies.
TEST_F(DerivationTest, KnowsWhatAPairSaysOfNormalForms) {
  const Pair pair = {{{{kAdd, {-2, -3}}, {kMatmul, {-1, 0}}, {kRelu, {2}}}, {4}},
                     {{{kRelu, {-1}}}, {0}}};
  known_.Add(distribute_, DerivationOptions::kProved);
  known_.ChoosePrecedence();
  known_.Add(pair, DerivationOptions::kProved);
  EXPECT_FALSE(Joined(pair, kProved));
  const int typed = known_.Add(pair, DerivationOptions::kProved, {}, std::vector<int>(3, Square()));
  EXPECT_TRUE(Joined(pair, kProved));
  EXPECT_EQ(Derive(pair, typed), (std::vector<int>{1}));
}

TEST_F(DerivationTest, TrustsNoMoreThanItIsTold) {
  known_.Add(relu_twice_, DerivationOptions::kGuarded);
  EXPECT_FALSE(Joined(relu_thrice_, kProved));
  EXPECT_TRUE(Joined(relu_thrice_, kGuarded));
  EXPECT_EQ(known_.FirstSuspect(Terms(relu_thrice_.source), Terms(relu_thrice_.target), kGuarded),
            0);
  EXPECT_EQ(Derive(relu_thrice_), std::vector<int>{-1});
}

// The pair is true, but a rewriter that has a·b and a·c would have to invent the concat.
TEST_F(DerivationTest, MergingSiblingsDoesNotFollow) {
  known_.Add(split_, DerivationOptions::kProved);
  known_.Add(concat_, DerivationOptions::kProved);
  known_.ChoosePrecedence();
  EXPECT_TRUE(Joined(merge_, kProved));
  EXPECT_FALSE(Joined(merge_, kSplitsStay));
  known_.Add(merge_, DerivationOptions::kProved);
  EXPECT_TRUE(Joined(merge_, kSplitsStay));
}

// Terms without a type in the enumeration are no steps.
TEST_F(DerivationTest, RefusesTermsWithoutAType) {
  EXPECT_EQ(Terms({{{kSplit, {-1}}}, {0, 1}}), (std::vector<int>{-1, -1}));
}

TEST_F(DerivationTest, WhatWasDerivedRestsOnItsSteps) {
  known_.Add(relu_twice_, DerivationOptions::kProved);
  const int thrice = known_.Add(relu_thrice_, DerivationOptions::kProved, {{0, false}, {0, false}});
  EXPECT_EQ(Derive(relu_thrice_, 0), std::vector<int>{-1});
  EXPECT_EQ(known_.StepsOf(thrice).size(), 2u);
}

}  // namespace
}  // namespace lemma::generator
