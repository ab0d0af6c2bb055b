#include "rewrite/taso/import.h"

#include <fstream>
#include <random>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "tests/rewrite/taso/taso_testutil.h"

namespace lemma {
namespace {

using taso::File;
using taso::kSame;
using taso::kValid;
using taso::Op;

std::string Imported(const std::vector<taso::Operator>& source,
                     const std::vector<taso::Operator>& target) {
  auto rules = ImportTaso(File(source, target));
  if (!rules.ok()) return std::string(rules.status().message());
  return PrintRule((*rules)[0]);
}

std::string Sample() {
  std::ifstream in("tests/rewrite/taso/sample_rules.pb", std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

TEST(ImportTasoTest, ReadsTheSampleAndItsTextReadsBack) {
  auto rules = ImportTaso(Sample());
  ASSERT_TRUE(rules.ok()) << rules.status();
  ASSERT_EQ(rules->size(), 25u);
  for (size_t i = 0; i < rules->size(); ++i) {
    const std::string text = PrintRule((*rules)[i]);
    EXPECT_EQ((*rules)[i].name, absl::StrCat("taso_", i));
    auto again = ParseRules(text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(PrintRule((*again)[0]), text);
  }
  // Two grouped convolutions whose numbers of groups may differ; the rule must state the target's.
  EXPECT_EQ(PrintRule((*rules)[20]), R"(# TASO's rule 20
rule taso_20(x7: [n,c * g,h,w], x10: [k,c,2 * p + 1,2 * q + 1], x8: [n,c2 * g2,h,w], x11: [k,c2,2 * p + 1,2 * q + 1]) reassociates {
  t1 = conv2d(x7, x10) {pads = [p, q, p, q], groups = g}
  t2 = conv2d(x8, x11) {pads = [p, q, p, q], groups = g2}
  t3 = add(t1, t2)
  return t3
} => {
  t4 = concat(x10, x11) {axis = 1}
  t5 = concat(x7, x8) {axis = 1}
  t6 = conv2d(t5, t4) {pads = [p, q, p, q], groups = (c * g + c2 * g2) div (c + c2)}
  return t6
}
)");
}

TEST(ImportTasoTest, SplitsIntoWhatConcatPutTogether) {
  EXPECT_TRUE(absl::StrContains(
      Imported({Op(8, {{-1, 0}})}, {Op(12, {{-1, 0}, {-1, 0}}, {{10, 2}, {11, 1}}), Op(8, {{0, 0}}),
                                    Op(13, {{1, 0}}, {{2, 2}, {11, 1}})}),
      "split(t3) {axis = 1, sizes = [n, n]}"));
  // Without a concat, split makes halves.
  EXPECT_TRUE(
      absl::StrContains(Imported({Op(13, {{-1, 0}}, {{2, 2}, {11, 0}}), Op(16, {{0, 0}, {0, 1}})},
                                 {Op(13, {{-1, 0}}, {{2, 2}, {11, 0}}), Op(16, {{0, 1}, {0, 0}})}),
                        "rule taso_0(x1: [2 * l])"));
}

TEST(ImportTasoTest, RanksComeFromOperators) {
  EXPECT_TRUE(
      absl::StrContains(Imported({Op(16, {{-1, 0}, {-2, 0}})}, {Op(16, {{-2, 0}, {-1, 0}})}),
                        "(x1: [b..], x2: [b..])"));
  EXPECT_TRUE(
      absl::StrContains(Imported({Op(18, {{-1, 0}, {-2, 0}}, {{9, 0}}), Op(19, {{0, 0}, {-3, 0}})},
                                 {Op(19, {{-1, 0}, {-3, 0}}), Op(18, {{0, 0}, {-2, 0}}, {{9, 0}})}),
                        "(x1: [b..,m,n], x2: [b..,n,n2], x3: [])"));
  EXPECT_TRUE(absl::StrContains(Imported({Op(15, {{-1, 0}}, {{10, 2}, {12, 2}, {13, 1}}),
                                          Op(15, {{0, 0}}, {{10, 2}, {12, 2}, {13, 1}})},
                                         {Op(15, {{-1, 0}}, {{10, 2}, {12, 1}, {13, 1}})}),
                                "(x1: [m,n])"));
}

TEST(ImportTasoTest, ActivationIsAnOperatorOfItsOwn) {
  EXPECT_TRUE(absl::StrContains(
      Imported({Op(3, {{-1, 0}, {-2, 0}}, kValid)}, {Op(3, {{-1, 0}, {-2, 0}}, kValid)}),
      "(x1: [n,c * g,h,w], x2: [k,c,r,s]) reassociates {\n"
      "  t1 = conv2d(x1, x2) {strides = [2, 1], groups = g}\n  t2 = relu(t1)\n"));
}

TEST(ImportTasoTest, AKernelIsEnlargedToWhatIsLarger) {
  EXPECT_EQ(Imported({Op(3, {{-1, 0}, {-2, 0}}, kSame)},
                     {Op(20, {{-2, 0}}, {{4, 3}, {5, 3}}), Op(3, {{-1, 0}, {0, 0}}, kSame)}),
            R"(# TASO's rule 0
rule taso_0(x1: [n,c * g,h,w], x2: [k,c,2 * p + 1,2 * q + 1]) reassociates where p <= 1, q <= 1 {
  t1 = conv2d(x1, x2) {pads = [p, q, p, q], groups = g}
  return t1
} => {
  t2 = pad(x2) {pads = [0, 0, 1 - p, 1 - q, 0, 0, 1 - p, 1 - q]}
  t3 = conv2d(x1, t2) {pads = [1, 1, 1, 1], groups = g}
  return t3
}
)");
}

struct BadCase {
  std::vector<taso::Operator> source, target;
  std::string message;
};

TEST(ImportTasoTest, SaysWhichRuleAndOperatorIsWrong) {
  const taso::Operator relu = Op(8, {{-1, 0}});
  const BadCase cases[] = {
      {{Op(8, {{-1, 0}, {-2, 0}})}, {relu}, "rule 0, source operator 0: relu has 2 operands"},
      {{relu}, {Op(99, {})}, "rule 0, target operator 0: there is no operator type 99"},
      {{Op(14, {{-1, 0}})}, {relu}, "rule 0, source operator 0: reshape (operator type 14) is not"},
      {{relu},
       {Op(8, {{-2, 0}})},
       "rule 0, target operator 0 (relu): the source has no variable -2"},
      {{relu}, {Op(8, {{3, 0}})}, "rule 0, target operator 0 (relu): it reads operator 3"},
      {{relu, Op(8, {{0, 1}})}, {relu}, "rule 0, source operator 1 (relu): it reads output 1"},
      {{Op(3, {{-1, 0}, {-2, 0}}, {{8, 0}})},
       {relu},
       "conv2d: parameter 9 (activation) is missing"},
      {{Op(3, {{-1, 0}, {-2, 0}}, {{6, 0}, {7, 1}, {8, 0}, {9, 0}})},
       {relu},
       "conv2d: parameter 6 (stride height) is 0, not in [1, 1024]"},
      {{Op(15, {{-1, 0}}, {{10, 2}, {12, 3}})}, {relu}, "is 3, no permutation of 2 dimensions"},
      {{Op(12, {{-1, 0}, {-2, 0}}, {{10, 2}, {11, 2}})}, {relu}, "(axis) is 2, not in [0, 1]"},
      {{Op(8, {{-1, 0}}, {{77, 0}})}, {relu}, "relu: there is no parameter 77"},
      {{Op(8, {{-1, 0}}, {{2, 0}, {2, 1}})}, {relu}, "number of outputs) is given twice"},
      {{Op(7, {{-1, 0}}, {{4, 2}, {5, 2}, {6, 2}, {7, 2}, {8, 0}})},
       {relu},
       "rule 0, source operator 0 (pool2d_avg): padding \"same\" of a kernel of size 2"},
      {{Op(12, {{-1, 0}, {-1, 0}}, {{10, 2}, {11, 0}}), Op(3, {{0, 0}, {-2, 0}}, kSame)},
       {relu},
       "rule 0, source operator 1 (conv2d): its operands cannot have the ranks it takes"},
      {{Op(15, {{-1, 0}}, {{10, 2}, {12, 2}}), Op(16, {{0, 0}, {-1, 0}}),
        Op(12, {{1, 0}, {1, 0}}, {{10, 2}, {11, 0}}), Op(16, {{1, 0}, {2, 0}})},
       {relu},
       "rule 0, source operator 3 (ewadd): no sizes fit: 1 would have to be 0"},
      {{Op(12, {{-1, 0}, {-2, 0}}, {{10, 2}, {11, 0}}),
        Op(12, {{-3, 0}, {0, 0}}, {{10, 2}, {11, 0}}), Op(16, {{1, 0}, {-3, 0}})},
       {relu},
       "rule 0, source operator 2 (ewadd): no sizes fit: 0 would have to be m + m2"},
      {{relu, Op(8, {{-1, 0}})}, {relu}, "rule 0: rule 0:3:3: nothing uses this value"},
      {{relu},
       {Op(24, {}), Op(18, {{-1, 0}, {0, 0}}, {{9, 0}}), Op(24, {}),
        Op(18, {{1, 0}, {2, 0}}, {{9, 0}})},
       "the symbol d occurs in the target only"},
  };
  for (const BadCase& c : cases) {
    auto rules = ImportTaso(File(c.source, c.target));
    ASSERT_FALSE(rules.ok()) << c.message;
    EXPECT_TRUE(absl::StrContains(rules.status().message(), c.message)) << rules.status();
  }
}

TEST(ImportTasoTest, AFileThatIsNone) {
  EXPECT_TRUE(absl::StrContains(ImportTaso("hello there").status().message(), "no TASO rule file"));
  EXPECT_TRUE(absl::StrContains(ImportTaso("").status().message(), "no TASO rule file"));
  std::string cut = File({Op(8, {{-1, 0}})}, {Op(8, {{-1, 0}})});
  cut.resize(cut.size() - 3);
  EXPECT_FALSE(ImportTaso(cut).ok());
}

TEST(ImportTasoTest, SizesThatGrowWithoutEndAreAnError) {
  std::vector<taso::Operator> ops;
  for (int i = 0; i < 30; ++i) {
    std::vector<std::pair<int, int>> inputs(16, {i - 1, 0});
    ops.push_back(Op(12, inputs, {{10, 1}, {11, 0}}));
  }
  EXPECT_FALSE(ImportTaso(File(ops, ops)).ok());
}

// Any operators, operands and parameters give an error, or rules whose text reads back.
TEST(ImportTasoTest, AnyRuleIsReadOrRefused) {
  std::mt19937 random(1);
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<taso::Operator> sides[2];
    for (auto& side : sides) {
      const int length = 1 + below(4);
      for (int i = 0; i < length; ++i) {
        const int types[] = {3, 6, 7, 8, 12, 13, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25};
        const int type = types[below(17)];
        const int operands = type >= 22 ? 0 : type == 12 || type == 3 || type >= 16 ? 2 : 1;
        std::vector<std::pair<int, int>> inputs;
        for (int k = 0; k < (type == 21 ? 1 : operands); ++k) {
          inputs.push_back({below(2) == 0 && i > 0 ? below(i) : -1 - below(3), below(8) == 0});
        }
        taso::Params params = below(2) == 0 ? kSame : kValid;
        params.insert(params.end(), {{2, 2}, {10, below(2) == 0 ? 2 : 4}, {11, below(3)}});
        params.push_back({12, below(3) == 0 ? below(256) : 2});
        params.push_back({14, 1 + below(3)});
        side.push_back(Op(type, inputs, params));
      }
    }
    auto rules = ImportTaso(File(sides[0], sides[1], below(4) == 0 ? -1 : 0));
    if (!rules.ok()) continue;
    ++read;
    const std::string text = PrintRule((*rules)[0]);
    auto again = ParseRules(text);
    ASSERT_TRUE(again.ok()) << again.status() << text;
    EXPECT_EQ(PrintRule((*again)[0]), text);
  }
  EXPECT_GT(read, 100);
}

TEST(ImportTasoTest, DamagedBytesDoNoHarm) {
  std::mt19937 random(1);
  const std::string sample = Sample();
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = sample;
    for (int k = 0; k < 4; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    auto rules = ImportTaso(bytes);
    EXPECT_TRUE(rules.ok() || !rules.status().message().empty());
  }
}

}  // namespace
}  // namespace lemma
