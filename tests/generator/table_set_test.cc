#include "generator/sets/table_set.h"

#include <string>
#include <vector>

#include "generator/sets/table_sets.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"
#include "verifier/prover/prover.h"

namespace lemma::generator {
namespace {

using ::testing::HasSubstr;

// The place of a variant in its set.
int VariantOf(const OperatorSet& set, const std::string& name) {
  for (size_t i = 0; i < set.variants().size(); ++i) {
    if (set.variants()[i].name == name) return static_cast<int>(i);
  }
  ADD_FAILURE() << "no variant " << name;
  return 0;
}

// Operators, by the names of their variants. Outputs of operator i are 2 * i and 2 * i + 1.
struct NamedTerm {
  std::string variant;
  std::vector<int> operands;
};
NumberedGraph GraphOf(const OperatorSet& set, const std::vector<NamedTerm>& terms,
                      std::vector<int> outputs) {
  NumberedGraph graph;
  for (const NamedTerm& t : terms) {
    graph.ops.push_back({VariantOf(set, t.variant), t.operands});
  }
  graph.outputs = std::move(outputs);
  return graph;
}

class TableSetTest : public ::testing::Test {
 protected:
  explicit TableSetTest(const TableSetText& text = TransformerSet())
      : set_(*TableSet(text.variants, text.inputs)) {}

  absl::StatusOr<Substitution> Lift(const std::vector<NamedTerm>& source, std::vector<int> outputs,
                                    const std::vector<NamedTerm>& target,
                                    std::vector<int> target_outputs) {
    return set_->Lift({GraphOf(*set_, source, std::move(outputs)),
                       GraphOf(*set_, target, std::move(target_outputs))},
                      "lifted");
  }
  // The rule's text without its first line, which is the pair.
  static std::string TextOf(const absl::StatusOr<Substitution>& rule) {
    if (!rule.ok()) return std::string(rule.status().message());
    const std::string text = PrintRule(*rule);
    return text.substr(text.find('\n') + 1);
  }
  std::unique_ptr<OperatorSet> set_;
};
class TrainingSetTest : public TableSetTest {
 protected:
  TrainingSetTest() : TableSetTest(TrainingSet()) {}
};

TEST_F(TableSetTest, CarriesAnyDimensionsAlong) {
  EXPECT_EQ(TextOf(Lift({{"scale", {-1, -2}}, {"matmul", {0, -3}}}, {2},
                        {{"matmul", {-1, -3}}, {"scale", {0, -2}}}, {2})),
            "rule lifted(x1: [b..,d,n], x2: [], x3: [b..,n,n2]) reassociates {\n"
            "  t1 = mul(x1, x2)\n"
            "  t2 = matmul(t1, x3)\n"
            "  return t2\n"
            "} => {\n"
            "  t3 = matmul(x1, x3)\n"
            "  t4 = mul(t3, x2)\n"
            "  return t4\n"
            "}\n");
}

TEST_F(TableSetTest, KnowsWhatRepeats) {
  // The number of each row keeps its shape [.., m, 1], and the number of columns stays open.
  const std::string text = TextOf(Lift({{"div_row", {-1, -2}}, {"linear", {0, -3}}}, {2},
                                       {{"linear", {-1, -3}}, {"div_row", {0, -2}}}, {2}));
  EXPECT_THAT(text, HasSubstr("(x1: [b..,d,m,n], x2: [b..,d,m,1], x3: [n,n2])"));
}

TEST_F(TableSetTest, FindsTheSizesOfHeads) {
  EXPECT_EQ(TextOf(Lift({{"split_heads", {-1}}, {"merge_heads", {0}}}, {2}, {}, {-1})),
            "rule lifted(x1: [n,m,h * d]) reassociates {\n"
            "  t1 = reshape(x1) {shape = [n, m, h, d]}\n"
            "  t2 = reshape(t1) {shape = [n, m, h * d]}\n"
            "  return t2\n"
            "} => {\n"
            "  return x1\n"
            "}\n");
  EXPECT_THAT(TextOf(Lift({{"merge_heads", {-1}}, {"split_heads", {0}}}, {2}, {}, {-1})),
              HasSubstr("  t2 = reshape(t1) {shape = [n, m, h, d]}\n"));
  // The target has as many heads as the source.
  EXPECT_THAT(TextOf(Lift({{"split_heads", {-1}}, {"exp", {0}}}, {2},
                          {{"exp", {-1}}, {"split_heads", {0}}}, {2})),
              HasSubstr("  t4 = reshape(t3) {shape = [n, m, h, d]}\n"));
}

TEST_F(TableSetTest, CutsWhereConcatPutTogether) {
  // x·a, x·b = split(x·(a | b)), where a and b may have different widths.
  const auto rule =
      Lift({{"linear", {-1, -2}}, {"linear", {-1, -3}}}, {0, 2},
           {{"concat_last", {-2, -3}}, {"linear", {-1, 0}}, {"split_last", {2}}}, {4, 5});
  EXPECT_THAT(TextOf(rule), HasSubstr("(x1: [b..,l,m,k], x2: [k,n], x3: [k,n2])"));
  EXPECT_THAT(TextOf(rule), HasSubstr("split(t4) {axis = -1, sizes = [n, n2]}"));
  ASSERT_TRUE(rule.ok());
  EXPECT_TRUE(IsProved(ProveRule(*rule)));
  // Sizes show only in the order of the parts: b comes first.
  EXPECT_THAT(
      TextOf(Lift({{"concat_last", {-1, -2}}}, {0},
                  {{"concat_last", {-2, -1}}, {"split_last", {0}}, {"concat_last", {3, 2}}}, {4})),
      HasSubstr("split(t2) {axis = -1, sizes = [q, p]}"));
}

TEST_F(TrainingSetTest, LeavesAttributesOpenAndTheSameOnBothSides) {
  const auto rule = Lift({{"conv2d", {-1, -2}}, {"conv2d", {-3, -2}}, {"add", {0, 2}}}, {4},
                         {{"add", {-1, -3}}, {"conv2d", {0, -2}}}, {2});
  EXPECT_EQ(TextOf(rule),
            "rule lifted(x1: [n,c,h,w], x2: [k,c,r,s], x3: [n,c,h,w]) reassociates {\n"
            "  t1 = conv2d(x1, x2) {strides = [t, t2], pads = [p, p2, p3, p4]}\n"
            "  t2 = conv2d(x3, x2) {strides = [t, t2], pads = [p, p2, p3, p4]}\n"
            "  t3 = add(t1, t2)\n"
            "  return t3\n"
            "} => {\n"
            "  t4 = add(x1, x3)\n"
            "  t5 = conv2d(t4, x2) {strides = [t, t2], pads = [p, p2, p3, p4]}\n"
            "  return t5\n"
            "}\n");
}

// At 3 x 3, stride 1 and padding 1, the gradient of a convolution has the convolution's size. That
// both are equal there is such a coincidence.
TEST_F(TrainingSetTest, CoincidencesAreNotProved) {
  const auto rule = Lift({{"conv2d", {-1, -2}}, {"conv2d", {-3, 0}}}, {2},
                         {{"conv2d", {-2, -1}}, {"conv_data_grad", {-3, 0}}}, {2});
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_FALSE(IsProved(ProveRule(*rule)));
}

TEST_F(TableSetTest, CoincidencesAreNotProved) {
  // Weights are square in the enumeration, so xᵀ has x's type there, but not in general. Both
  // products need a square matrix, and then the claim is false.
  const auto rule =
      Lift({{"transpose", {-1}}, {"matmul", {0, -2}}}, {2}, {{"matmul", {-1, -2}}}, {0});
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_FALSE(IsProved(ProveRule(*rule)));
  // If rows have one element, a number for each row is a number for each element. The rule gets the
  // size 1 and claims nothing about other sizes.
  const auto one = Lift({{"sum_last", {-1}}}, {0}, {}, {-1});
  EXPECT_THAT(TextOf(one), HasSubstr("(x1: [b..,m,1])"));
}

TEST_F(TableSetTest, RefusesWhatHasNoTypes) {
  EXPECT_THAT(TextOf(Lift({{"exp", {-1}}}, {0}, {{"exp", {-2}}}, {0})),
              HasSubstr("x2 occurs in the target only"));
  EXPECT_THAT(TextOf(Lift({{"transpose", {-1}}, {"merge_heads", {0}}}, {2}, {}, {-1})),
              HasSubstr("operand 0 of merge_heads would have two ranks"));
  EXPECT_THAT(TextOf(Lift({{"concat_last", {-1, -2}}}, {0}, {}, {-1})), HasSubstr("no sizes fit"));
}

TEST_F(TableSetTest, AppliesVariantsToTheirTypesOnly) {
  auto apply = [&](const char* variant, std::vector<int> inputs) -> std::string {
    std::vector<int> types;
    for (int i : inputs) types.push_back(set_->inputs()[i].type);
    auto applied = set_->Apply(VariantOf(*set_, variant), types);
    if (!applied.ok()) return std::string(absl::StatusCodeToString(applied.status().code()));
    std::string text;
    for (int type : applied->types) text += lemma::ToString(set_->DimsOf(type));
    return text;
  };
  // x1 is [2,5,12], w1 [12,12], z1 [2,3,5,4], r1 [2,5,1].
  const int x = 0, w = 3, z = 6, r = 13;
  ASSERT_EQ(set_->inputs()[r].name, "r1");
  EXPECT_EQ(apply("linear", {x, w}), "[2,5,12]");
  EXPECT_EQ(apply("linear", {w, w}), "NOT_FOUND");  // that is matmul
  EXPECT_EQ(apply("matmul", {x, w}), "NOT_FOUND");
  EXPECT_EQ(apply("split_heads", {x}), "[2,5,3,4]");
  EXPECT_EQ(apply("split_heads", {r}), "NOT_FOUND");
  EXPECT_EQ(apply("merge_heads", {z}), "[2,3,20]");
  EXPECT_EQ(apply("sum_last", {x}), "[2,5,1]");
  EXPECT_EQ(apply("div_row", {x, r}), "[2,5,12]");
  EXPECT_EQ(apply("div_row", {r, r}), "NOT_FOUND");  // it would repeat along one element
  EXPECT_EQ(apply("split_last", {x}), "NOT_FOUND");
  EXPECT_EQ(apply("softmax", {x}), "[2,5,12]");
  EXPECT_EQ(apply("softmax", {r}), "NOT_FOUND");  // it would be 1
}

TEST(TableVariantTest, SaysWhatIsWrongWithAText) {
  auto error = [](const VariantText& text) {
    return std::string(TableVariant::Read(text).status().message());
  };
  EXPECT_THAT(error({"i", "x: [n]", "no_such(x)", {}}), HasSubstr("there is no operator no_such"));
  EXPECT_THAT(error({"i", "x: [n]", "expand(x) {shape = [m, n]}", {}}),
              HasSubstr("i: the attribute m has no value"));
  EXPECT_THAT(error({"i", "x: [a.., n, c..]", "exp(x)", {}}),
              HasSubstr("i: one list symbol, in front"));
  EXPECT_THAT(error({"i", "x: [b.., n]", "reshape(x) {shape = [b.., n, 1]}", {}}),
              HasSubstr("i: the attribute shape names the dimensions that are carried along"));
  EXPECT_THAT(error({"i", "x: [n], y: [n], z: [n]", "a = add(x, y) r = add(a, z) return r", {}}),
              HasSubstr("i: at most 2 operands"));
}

}  // namespace
}  // namespace lemma::generator
