#include "generator/terms.h"

#include <set>
#include <string>

#include "generator/derivation.h"
#include "generator/taso_set.h"
#include "gtest/gtest.h"

namespace lemma::generator {
namespace {

// Instances: 0 matmul, 1 add, 2 relu, 3 concat1_2d, 4 split1.
class TermsTest : public ::testing::Test {
 protected:
  static constexpr int kMatmul = 0, kAdd = 1, kRelu = 2, kConcat = 3, kSplit = 4;
  TermsTest() : set_(*TasoSet({"matmul", "add", "relu", "concat1_2d", "split1"})) {}
  std::string Key(const TermGraph& graph) { return KeyOf(*set_, graph); }
  std::set<std::string> Rewrites(const TermGraph& graph, const Pair& rule) {
    std::set<std::string> results;
    ForEachRewrite(*set_, graph, rule, [&](const TermGraph& g) { results.insert(Key(g)); });
    return results;
  }
  std::unique_ptr<OperatorSet> set_;
  // relu(relu(v)) => relu(v)
  const Pair relu_twice_ = {{{{kRelu, {-1}}, {kRelu, {0}}}, {2}}, {{{kRelu, {-1}}}, {0}}};
  // a·b, a·c => split(a·(b | c))
  const Pair merge_ = {{{{kMatmul, {-1, -2}}, {kMatmul, {-1, -3}}}, {0, 2}},
                       {{{kConcat, {-2, -3}}, {kMatmul, {-1, 0}}, {kSplit, {2}}}, {4, 5}}};
};

TEST_F(TermsTest, KeysForgetTheOrderOfOperators) {
  const TermGraph a = {{{kRelu, {-1}}, {kMatmul, {-1, -2}}, {kAdd, {0, 2}}}, {4}};
  const TermGraph b = {{{kMatmul, {-1, -2}}, {kRelu, {-1}}, {kAdd, {0, 2}}}, {4}};
  const TermGraph c = {{{kMatmul, {-1, -2}}, {kRelu, {-2}}, {kAdd, {0, 2}}}, {4}};
  EXPECT_EQ(Key(a), Key(b));
  EXPECT_NE(Key(a), Key(c));
  // Operands of matmul have an order.
  EXPECT_NE(Key({{{kMatmul, {-1, -2}}}, {0}}), Key({{{kMatmul, {-2, -1}}}, {0}}));
  EXPECT_EQ(Key({{{kAdd, {-1, -2}}}, {0}}), Key({{{kAdd, {-2, -1}}}, {0}}));
}

TEST_F(TermsTest, RewritesInsideAGraph) {
  const TermGraph graph = {{{kRelu, {-5}}, {kRelu, {0}}, {kRelu, {2}}, {kAdd, {4, -1}}}, {6}};
  const TermGraph shorter = {{{kRelu, {-5}}, {kRelu, {0}}, {kAdd, {2, -1}}}, {4}};
  EXPECT_EQ(Rewrites(graph, relu_twice_), std::set<std::string>{Key(shorter)});
  EXPECT_TRUE(Rewrites({{{kRelu, {-5}}}, {0}}, relu_twice_).empty());
}

TEST_F(TermsTest, RewritesSeveralOutputs) {
  const TermGraph graph = {{{kMatmul, {-1, -4}}, {kMatmul, {-1, -5}}, {kAdd, {0, 2}}}, {4}};
  const TermGraph merged = {
      {{kConcat, {-4, -5}}, {kMatmul, {-1, 0}}, {kSplit, {2}}, {kAdd, {4, 5}}}, {6}};
  EXPECT_EQ(Rewrites(graph, merge_).count(Key(merged)), 1u);
}

TEST_F(TermsTest, RefusesACycle) {
  // The second product reads the first.
  const TermGraph chain = {{{kMatmul, {-4, -4}}, {kMatmul, {-4, 0}}}, {2}};
  for (const std::string& key : Rewrites(chain, merge_)) EXPECT_EQ(key.find("cyclic"), key.npos);
  EXPECT_EQ(Rewrites(chain, merge_).count(Key(chain)), 0u);
}

TEST_F(TermsTest, NamesAreForgotten) {
  const Pair a = {{{{kRelu, {-4}}, {kRelu, {0}}}, {2}}, {{{kRelu, {-4}}}, {0}}};
  EXPECT_EQ(WithoutNames(*set_, a).key, WithoutNames(*set_, relu_twice_).key);
  EXPECT_NE(WithoutNames(*set_, a).key, WithoutNames(*set_, merge_).key);
  EXPECT_EQ(WithoutNames(*set_, merge_).num_variables, 3);
  EXPECT_TRUE(WithoutNames(*set_, merge_).covers);
}

TEST_F(TermsTest, DerivesInTwoStepsAndNotWithoutTheRule) {
  Derivation rules(*set_);
  rules.Add(relu_twice_, true);
  const Pair thrice = {{{{kRelu, {-1}}, {kRelu, {0}}, {kRelu, {2}}}, {4}}, {{{kRelu, {-1}}}, {0}}};
  EXPECT_EQ(rules.Derive(thrice, -1), (std::vector<int>{0, 0}));
  EXPECT_TRUE(rules.Derive(thrice, 0).empty());
  EXPECT_TRUE(rules.Derive(merge_, -1).empty());
  rules.Disable(0);
  EXPECT_TRUE(rules.Derive(thrice, -1).empty());
}

}  // namespace
}  // namespace lemma::generator
