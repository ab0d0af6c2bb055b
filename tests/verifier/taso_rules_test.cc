// TASO's rules, imported and decided.
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "rewrite/rule_text.h"
#include "rewrite/taso/import.h"
#include "verifier/precondition.h"

namespace lemma {
namespace {

class SampleTest : public testing::TestWithParam<int> {
 protected:
  static const std::vector<Substitution>& Rules() {
    static const std::vector<Substitution>* rules = [] {
      std::ifstream in("tests/rewrite/taso/sample_rules.pb", std::ios::binary);
      std::stringstream bytes;
      bytes << in.rdbuf();
      auto read = ImportTaso(bytes.str());
      EXPECT_TRUE(read.ok()) << read.status();
      return new std::vector<Substitution>(read.ok() ? *read : std::vector<Substitution>());
    }();
    return *rules;
  }
};

// Every rule is true as it stands, but for two that need convolutions of one group.
TEST_P(SampleTest, IsDecided) {
  ASSERT_LT(GetParam(), static_cast<int>(Rules().size()));
  static const std::map<int, std::string> guards = {{20, "g = 1, g2 = 1"}, {24, "g = 1"}};
  const Precondition found = SynthesizePrecondition(Rules()[GetParam()]);
  auto guard = guards.find(GetParam());
  if (guard == guards.end()) {
    EXPECT_TRUE(IsProved(found.without)) << ToString(found.without);
    EXPECT_FALSE(found.with);
    return;
  }
  EXPECT_TRUE(IsRefuted(found.without)) << ToString(found.without);
  ASSERT_TRUE(found.with) << found.reason;
  EXPECT_TRUE(IsProved(*found.with)) << ToString(*found.with);
  std::vector<std::string> conjuncts;
  for (const Comparison& c : found.found) {
    conjuncts.push_back(
        absl::StrCat(c.lhs.ToString(), " ", Name(c.relation), " ", c.rhs.ToString()));
  }
  EXPECT_EQ(absl::StrJoin(conjuncts, ", "), guard->second);
}
INSTANTIATE_TEST_SUITE_P(Rules, SampleTest, testing::Range(0, 25));

}  // namespace
}  // namespace lemma
