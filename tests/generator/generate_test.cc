#include "generator/run/generate.h"

#include <set>
#include <string>

#include "generator/sets/taso_set.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::generator {
namespace {

// Counts a rule as proved if no instance refutes it; the prover has tests of its own.
absl::StatusOr<std::vector<Decision>> ByTesting(const std::vector<Substitution>& rules) {
  std::vector<Decision> decisions;
  for (const Substitution& rule : rules) {
    RandomizedCheckOptions options;
    options.instances = 10;
    auto tested = RandomizedCheck(rule, options);
    if (!tested.ok()) return tested.status();
    Decision& decision = decisions.emplace_back();
    decision.rule = rule;
    decision.answer = tested->counterexample  ? Decision::Answer::kRefuted
                      : tested->instances > 0 ? Decision::Answer::kProved
                                              : Decision::Answer::kUnknown;
    decision.reason = tested->counterexample.value_or("");
  }
  return decisions;
}

Generated GenerateFrom(const std::vector<std::string>& names, int max_ops, int threads = 1) {
  auto set = TasoSet(names);
  EXPECT_TRUE(set.ok());
  EnumeratorOptions enumerator;
  enumerator.max_ops = max_ops;
  enumerator.threads = threads;
  auto enumerated = Enumerate(set->get(), enumerator);
  EXPECT_TRUE(enumerated.ok()) << enumerated.status();
  if (!enumerated.ok()) return {};
  GenerateOptions options;
  auto generated = Generate(set->get(), *enumerated, options, ByTesting);
  EXPECT_TRUE(generated.ok()) << generated.status();
  return generated.ok() ? *std::move(generated) : Generated{};
}

std::set<std::string> Texts(const Generated& generated) {
  std::set<std::string> texts;
  for (const GeneratedRule& rule : generated.rules) texts.insert(rule.rule.doc);
  return texts;
}

TEST(GenerateTest, FindsKnownRulesOfTwoOperators) {
  const std::set<std::string> found =
      Texts(GenerateFrom({"matmul", "add", "scale", "relu", "transpose", "concat0_2d", "concat1_2d",
                          "split0", "split1", "identity_matrix"},
                         2));
  for (const char* rule :
       {"matmul(matmul(x1, x2), x3) => matmul(x1, matmul(x2, x3))",
        "add(add(x1, x2), x3) => add(add(x1, x3), x2)",
        "concat0_2d(x3, concat0_2d(x1, x2)) => concat0_2d(concat0_2d(x3, x1), x2)",
        "concat1_2d(x3, concat1_2d(x1, x2)) => concat1_2d(concat1_2d(x3, x1), x2)",
        "split0(concat0_2d(x1, x2)).0, split0(concat0_2d(x1, x2)).1 => x1, x2",
        "matmul(scale(x1, x2), x3) => scale(matmul(x1, x3), x2)",
        "transpose(scale(x1, x2)) => scale(transpose(x1), x2)", "transpose(transpose(x1)) => x1",
        "relu(relu(x1)) => relu(x1)", "relu(transpose(x1)) => transpose(relu(x1))",
        "matmul(x1, identity_matrix) => x1"}) {
    EXPECT_EQ(found.count(rule), 1u) << rule;
  }
}

TEST(GenerateTest, FindsKnownRulesOfThreeOperators) {
  const std::set<std::string> found =
      Texts(GenerateFrom({"matmul", "add", "concat1_2d", "split1"}, 3));
  for (const char* rule :
       {"add(matmul(x1, x2), matmul(x1, x3)) => matmul(x1, add(x2, x3))",
        "add(matmul(x1, x2), matmul(x3, x2)) => matmul(add(x1, x3), x2)",
        // The rule has four variables, though the set has three inputs of this type.
        "add(concat1_2d(x1, x2), concat1_2d(x3, x4)) => concat1_2d(add(x1, x3), add(x2, x4))",
        "concat1_2d(matmul(x1, x2), matmul(x1, x3)) => matmul(x1, concat1_2d(x2, x3))"}) {
    EXPECT_EQ(found.count(rule), 1u) << rule;
  }
}

// A pair that is equal at the sizes of the enumeration only is refuted at others, and listed.
TEST(GenerateTest, CoincidencesOfSizesAreListed) {
  auto set = TasoSet({"conv1x3", "concat1_4d"});
  ASSERT_TRUE(set.ok());
  const auto input = [&](const char* name) {
    for (size_t i = 0; i < (*set)->inputs().size(); ++i) {
      if ((*set)->inputs()[i].name == name) return InputValue(static_cast<int>(i));
    }
    return 0;
  };
  const int y = input("y1"), u = input("u1");
  Enumerated enumerated;
  enumerated.max_ops = 2;
  const NumberedGraph single = {{{0, {y, u}}}, {OutputValue(0, 0)}};
  const NumberedGraph twice = {{{1, {y, y}}, {0, {OutputValue(0, 0), u}}}, {OutputValue(1, 0)}};
  enumerated.classes.push_back({{Compacted(single), Compacted(twice)}});
  auto generated = Generate(set->get(), enumerated, {}, ByTesting);
  ASSERT_TRUE(generated.ok()) << generated.status();
  EXPECT_EQ(generated->stats.pairs, 1);
  EXPECT_TRUE(generated->rules.empty());
  ASSERT_EQ(generated->rejected.size(), 1u);
  EXPECT_EQ(generated->rejected[0].text, "conv1x3(concat1_4d(x1, x1), x2) => conv1x3(x1, x2)");
}

TEST(GenerateTest, SameRulesForAnyNumberOfThreads) {
  const std::vector<std::string> names = {"matmul", "add", "relu", "transpose"};
  auto text = [&](int threads) {
    std::string all;
    for (const GeneratedRule& rule : GenerateFrom(names, 2, threads).rules)
      all += PrintRule(rule.rule);
    return all;
  };
  const std::string one = text(1);
  EXPECT_FALSE(one.empty());
  EXPECT_EQ(one, text(4));
}

TEST(GenerateTest, DroppedRulesFollowFromKeptOnes) {
  const Generated generated = GenerateFrom({"matmul", "scale", "relu", "concat1_2d"}, 3);
  std::set<std::string> kept;
  for (const GeneratedRule& rule : generated.rules) {
    if (rule.follows_from.empty()) kept.insert(rule.rule.name);
  }
  EXPECT_LT(kept.size(), generated.rules.size());
  EXPECT_EQ(generated.stats.pruned, static_cast<int64_t>(generated.rules.size() - kept.size()));
  for (const GeneratedRule& rule : generated.rules) {
    for (const std::string& name : rule.follows_from) EXPECT_EQ(kept.count(name), 1u) << name;
  }
}

}  // namespace
}  // namespace lemma::generator
