#include "generator/sets/named_sets.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lemma::generator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> VariantsOf(const std::vector<std::string>& names) {
  std::vector<std::string> variants;
  auto set = NamedSet(names);
  EXPECT_TRUE(set.ok()) << set.status();
  if (!set.ok()) return {};
  for (const Variant& i : (*set)->variants()) variants.push_back(i.name);
  return variants;
}
std::string ErrorOf(const std::vector<std::string>& names) {
  return std::string(NamedSet(names).status().message());
}

TEST(NamedSetsTest, EachSetApplies) {
  for (const std::string& name : SetNames()) {
    auto set = NamedSet({name});
    ASSERT_TRUE(set.ok()) << name << ": " << set.status();
    // Each variant applies to some inputs or to results of such applications, so none is useless.
    std::set<int> types, applied;
    for (const Input& i : (*set)->inputs()) types.insert(i.type);
    for (int round = 0; round < 2; ++round) {
      const std::set<int> known = types;
      for (size_t i = 0; i < (*set)->variants().size(); ++i) {
        auto apply = [&](std::vector<int> operands) {
          auto made = (*set)->Apply(static_cast<int>(i), operands);
          if (!made.ok()) {
            EXPECT_TRUE(absl::IsNotFound(made.status())) << made.status();
            return;
          }
          applied.insert(static_cast<int>(i));
          types.insert(made->types.begin(), made->types.end());
        };
        const int operands = (*set)->variants()[i].num_operands;
        if (operands == 0) apply({});
        for (int a : known) {
          if (operands == 1) apply({a});
          for (int b : known) {
            if (operands == 2) apply({a, b});
          }
        }
      }
    }
    // TASO's generator has convolutions of 1 x 1, but no kernel for them.
    const size_t in_vain = name == "taso" ? 2 : 0;
    EXPECT_EQ(applied.size() + in_vain, (*set)->variants().size()) << name;
  }
}

TEST(NamedSetsTest, TasoIsPartOfTasoPlus) {
  const std::vector<std::string> taso = VariantsOf({"taso"}), plus = VariantsOf({"taso_plus"});
  EXPECT_EQ(taso.size(), 25u);
  ASSERT_GT(plus.size(), taso.size());
  EXPECT_TRUE(std::equal(taso.begin(), taso.end(), plus.begin()));
}

TEST(NamedSetsTest, SomeVariants) {
  using List = std::vector<std::string>;
  EXPECT_EQ(VariantsOf({"transformer", "exp", "matmul"}), (List{"matmul", "exp"}));
  // matmul is in several sets, exp and matmul in one.
  EXPECT_EQ(VariantsOf({"exp", "matmul"}), (List{"matmul", "exp"}));
  EXPECT_EQ((*NamedSet({"matmul"}))->inputs()[0].name, (*NamedSet({"taso"}))->inputs()[0].name);
}

TEST(NamedSetsTest, SaysWhatThereIs) {
  // One line, whatever sets there are.
  EXPECT_THAT(ErrorOf({"transformers"}),
              AllOf(HasSubstr("no operator set is called 'transformers'"),
                    HasSubstr("did you mean 'transformer'?"),
                    HasSubstr("sets are taso, taso_plus, transformer, training")));
  EXPECT_THAT(ErrorOf({"exp", "matmull"}), HasSubstr("did you mean 'matmul'?"));
  EXPECT_THAT(ErrorOf({"exp", "conv1x3"}), HasSubstr("no operator set has all of exp, conv1x3"));
  for (const char* name : {"transformers", "nothing"}) {
    EXPECT_LT(ErrorOf({name}).size(), 600u);
  }
  EXPECT_THAT(
      ErrorOf({"training", "matmul", "softmax"}),
      AllOf(HasSubstr("no operator variant 'softmax' in training: "), HasSubstr("matmul_tn")));
  EXPECT_THAT(ErrorOf({}), HasSubstr("the sets are taso"));
}

}  // namespace
}  // namespace lemma::generator
