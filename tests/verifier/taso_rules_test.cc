// TASO's rules, imported and decided.
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/rules/rule_text.h"
#include "rewrite/taso/import.h"
#include "tests/rewrite/taso/taso_testutil.h"
#include "verifier/preconditions/precondition.h"

namespace lemma {
namespace {

std::string TextOf(const std::vector<Comparison>& found) {
  std::vector<std::string> conjuncts;
  for (const Comparison& c : found) {
    conjuncts.push_back(
        absl::StrCat(c.lhs.ToString(), " ", Name(c.relation), " ", c.rhs.ToString()));
  }
  return absl::StrJoin(conjuncts, ", ");
}

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

// Every rule is true as it stands, except two that need convolutions of one group.
TEST_P(SampleTest, IsDecided) {
  ASSERT_LT(GetParam(), static_cast<int>(Rules().size()));
  static const std::map<int, std::string> guards = {{20, "g = 1, g2 = 1"}, {24, "g = 1"}};
  const Precondition found = SynthesizePrecondition(Rules()[GetParam()]);
  auto guard = guards.find(GetParam());
  // The randomized check, which is other code, finds no counterexample either.
  auto tested = RandomizedCheck(found.rule, {20, 3});
  ASSERT_TRUE(tested.ok()) << tested.status();
  EXPECT_FALSE(tested->counterexample) << *tested->counterexample;
  EXPECT_GE(tested->instances, 10);
  if (guard == guards.end()) {
    EXPECT_TRUE(IsProved(found.without)) << ToString(found.without);
    EXPECT_FALSE(found.with);
    return;
  }
  EXPECT_TRUE(IsRefuted(found.without)) << ToString(found.without);
  ASSERT_TRUE(found.with) << found.reason;
  EXPECT_TRUE(IsProved(*found.with)) << ToString(*found.with);
  EXPECT_EQ(TextOf(found.found), guard->second);
}
INSTANTIATE_TEST_SUITE_P(Rules, SampleTest, testing::Range(0, 25));

using taso::kSame;
using taso::kValid;
using taso::Op;
using Ops = std::vector<taso::Operator>;

struct Case {
  const char* name;
  const char* expected;  // "" if it is proved as it stands, "none" if nothing makes it true
  Ops source, target;
  int variable = 0;  // what the target returns, if no operator's result
};

const taso::Params kThree = {{4, 3}, {5, 3}}, kNone = {{9, 0}};
const taso::Params kTranspose = {{10, 2}, {12, 2}, {13, 1}};

// The axioms that TASO assumes about its operators, and some rules that it applies.
const Case kCases[] = {
    {"enlarge",
     "",
     {Op(3, {{-1, 0}, {-2, 0}}, kSame)},
     {Op(20, {{-2, 0}}, kThree), Op(3, {{-1, 0}, {0, 0}}, kSame)}},
    {"enlarge_to_a_sibling",
     "g = 1",
     {Op(3, {{-1, 0}, {-2, 0}}, kSame), Op(3, {{-1, 0}, {-3, 0}}, kSame),
      Op(12, {{0, 0}, {1, 0}}, {{10, 4}, {11, 1}})},
     {Op(20, {{-2, 0}, {-3, 0}}), Op(12, {{0, 0}, {-3, 0}}, {{10, 4}, {11, 0}}),
      Op(3, {{-1, 0}, {1, 0}}, kSame)}},
    {"identity_kernel", "", {Op(23, {}, kThree), Op(3, {{-1, 0}, {0, 0}}, kSame)}, {}, -1},
    {"pool_kernel",
     "",
     {Op(25, {}, kThree), Op(3, {{-1, 0}, {0, 0}}, kSame)},
     {Op(7, {{-1, 0}}, kSame)}},
    {"pool_kernel_is_no_maximum",
     "none",
     {Op(25, {}, kThree), Op(3, {{-1, 0}, {0, 0}}, kSame)},
     {Op(6, {{-1, 0}}, kSame)}},
    {"identity_matrix", "", {Op(22, {}), Op(18, {{-1, 0}, {0, 0}}, kNone)}, {}, -1},
    {"ones", "", {Op(24, {}), Op(17, {{-1, 0}, {0, 0}})}, {}, -1},
    {"ones_are_no_zeros", "none", {Op(24, {}), Op(16, {{-1, 0}, {0, 0}})}, {}, -1},
    {"transposed_product",
     "",
     {Op(18, {{-1, 0}, {-2, 0}}, kNone), Op(15, {{0, 0}}, kTranspose)},
     {Op(15, {{-1, 0}}, kTranspose), Op(15, {{-2, 0}}, kTranspose),
      Op(18, {{1, 0}, {0, 0}}, kNone)}},
    {"scaled_convolution",
     "",
     {Op(19, {{-1, 0}, {-3, 0}}), Op(3, {{0, 0}, {-2, 0}}, kSame)},
     {Op(19, {{-2, 0}, {-3, 0}}), Op(3, {{-1, 0}, {0, 0}}, kSame)}},
    {"merged_groups",
     "g = 2",
     {Op(3, {{-1, 0}, {-2, 0}}, kSame)},
     {Op(21, {{-2, 0}}, {{14, 2}}), Op(3, {{-1, 0}, {0, 0}}, kSame)}},
    {"pools_side_by_side",
     "",
     {Op(6, {{-1, 0}}, kSame), Op(6, {{-2, 0}}, kSame),
      Op(12, {{0, 0}, {1, 0}}, {{10, 4}, {11, 1}})},
     {Op(12, {{-1, 0}, {-2, 0}}, {{10, 4}, {11, 1}}), Op(6, {{0, 0}}, kSame)}},
    {"groups_side_by_side",
     "g * k2 = k * g2",
     {Op(3, {{-1, 0}, {-2, 0}}, kSame), Op(3, {{-3, 0}, {-4, 0}}, kSame),
      Op(12, {{0, 0}, {1, 0}}, {{10, 4}, {11, 1}})},
     {Op(12, {{-1, 0}, {-3, 0}}, {{10, 4}, {11, 1}}),
      Op(12, {{-2, 0}, {-4, 0}}, {{10, 4}, {11, 0}}), Op(3, {{0, 0}, {1, 0}}, kSame)}},
    {"four_blocks",
     "",
     {Op(12, {{-1, 0}, {-2, 0}}, {{10, 2}, {11, 1}}),
      Op(12, {{-3, 0}, {-4, 0}}, {{10, 2}, {11, 1}}), Op(12, {{0, 0}, {1, 0}}, {{10, 2}, {11, 0}})},
     {Op(12, {{-1, 0}, {-3, 0}}, {{10, 2}, {11, 0}}),
      Op(12, {{-2, 0}, {-4, 0}}, {{10, 2}, {11, 0}}),
      Op(12, {{0, 0}, {1, 0}}, {{10, 2}, {11, 1}})}},
    {"activation",
     "",
     {Op(3, {{-1, 0}, {-2, 0}}, kValid)},
     {Op(3, {{-1, 0}, {-2, 0}}, {{6, 2}, {7, 1}, {8, 1}, {9, 0}}), Op(8, {{0, 0}})}},
    {"activation_left_out",
     "none",
     {Op(3, {{-1, 0}, {-2, 0}}, kValid)},
     {Op(3, {{-1, 0}, {-2, 0}}, {{6, 2}, {7, 1}, {8, 1}, {9, 0}})}},
    {"halves_change_places",
     "none",
     {Op(13, {{-1, 0}}, {{2, 2}, {11, 0}}), Op(12, {{0, 0}, {0, 1}}, {{10, 2}, {11, 0}})},
     {Op(13, {{-1, 0}}, {{2, 2}, {11, 0}}), Op(12, {{0, 1}, {0, 0}}, {{10, 2}, {11, 0}})}},
};

class OperatorTest : public testing::TestWithParam<Case> {};

TEST_P(OperatorTest, MeansWhatTasoSays) {
  const Case& c = GetParam();
  auto rules = ImportTaso(taso::File(c.source, c.target, c.variable));
  ASSERT_TRUE(rules.ok()) << rules.status();
  const Precondition found = SynthesizePrecondition((*rules)[0]);
  if (*c.expected == 0) {
    EXPECT_TRUE(IsProved(found.without)) << ToString(found.without) << PrintRule(found.rule);
    return;
  }
  EXPECT_TRUE(IsRefuted(found.without)) << ToString(found.without);
  EXPECT_EQ(found.with ? TextOf(found.found) : "none", c.expected) << PrintRule(found.rule);
}
INSTANTIATE_TEST_SUITE_P(Taso, OperatorTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lemma
