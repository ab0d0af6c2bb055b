// Every rule of data/rules/starter.txt on random instances, and beside it a false neighbor.
#include <string>
#include <vector>

#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/matching/apply.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/rules/rule_text.h"
#include "tests/rewrite/starter_mutants.h"

namespace lemma {
namespace {

const RuleSet& Starter() {
  static const RuleSet* rules = [] {
    auto loaded = RuleSet::Load("data/rules/starter.txt");
    if (!loaded.ok()) {
      ADD_FAILURE() << loaded.status();
      return RuleSet::Create({})->release();
    }
    return loaded->release();
  }();
  return *rules;
}

class StarterRule : public ::testing::TestWithParam<std::string> {
 protected:
  const Substitution& rule() const {
    for (const Substitution& r : Starter().rules()) {
      if (r.name == GetParam()) return r;
    }
    ADD_FAILURE() << "no rule " << GetParam();
    return Starter().rules()[0];
  }
};

TEST_P(StarterRule, HoldsOnRandomInstances) {
  auto result = RandomizedCheck(rule());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->counterexample.has_value()) << *result->counterexample;
  EXPECT_GE(result->instances, 100) << "not applicable: " << result->not_applicable;
}

TEST_P(StarterRule, HasAFalseNeighbor) {
  int found = 0;
  for (const Mutation& mutation : StarterMutations()) {
    if (mutation.rule != GetParam()) continue;
    ++found;
    std::string text = Mutate(rule(), mutation);
    auto mutant = ParseRules(text);
    ASSERT_TRUE(mutant.ok()) << mutant.status() << "\n" << text;
    auto result = RandomizedCheck(mutant->at(0));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->counterexample.has_value())
        << "passed " << result->instances << " instances, not applicable " << result->not_applicable
        << "\n"
        << text;
  }
  EXPECT_GE(found, 1) << "add a line \"# mutant: FROM -> TO\" above the rule";
}

bool HasEmptyOperand(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op() && node->type(0).num_elements() == 0) return true;
  }
  return false;
}

// The source of an instance contains the source, and applying the rule there gives the target.
TEST_P(StarterRule, MatchesItsOwnInstances) {
  auto matcher = Matcher::Create(rule());
  ASSERT_TRUE(matcher.ok()) << matcher.status();
  InstanceSampler sampler(rule(), 3);
  int applied = 0;
  for (int i = 0; i < 60 && applied < 20; ++i) {
    auto assignment = sampler.Draw();
    ASSERT_TRUE(assignment.has_value());
    auto source = Instantiate(rule(), rule().source, *assignment, VarsAs::kRoles);
    auto target = Instantiate(rule(), rule().target, *assignment, VarsAs::kRoles);
    ASSERT_TRUE(source.ok()) << source.status();
    if (!target.ok() || HasEmptyOperand(*source)) continue;  // those are left alone
    MatchIndex index(*source);
    bool found = false;
    matcher->ForEach(index, [&](const Match& match) {
      auto result = Apply(rule(), match, index);
      found = result.ok() && result->outputs() == target->outputs();
      return !found;
    });
    EXPECT_TRUE(found) << Describe(rule(), *assignment) << "\n" << PrintGraph(*source);
    applied += found;
  }
  EXPECT_GE(applied, 10);
}

TEST_P(StarterRule, PrintsAndReadsBack) {
  std::string text = PrintRule(rule());
  auto again = ParseRules(text);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
  EXPECT_EQ(PrintRule(again->at(0)), text);
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Substitution& rule : Starter().rules()) names.push_back(rule.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Rules, StarterRule, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lemma
