#include "rewrite/rules/held_numbers.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rewrite/matching/instantiate.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The answer of CheckNumbers for the target of a rule with symbols a, b at these values.
std::string Lost(const std::string& target, DType dtype, double a, double b) {
  const std::string text =
      "rule r(x: [n]) reassociates { y = scalar_mul(x) {alpha = a} z = scalar_mul(y) {alpha = b}"
      " return z } => { " +
      target + " return z }";
  auto rules = ParseRules(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  if (!rules.ok()) return "";
  const Substitution& rule = (*rules)[0];
  SymbolValues values;
  for (const Symbol& symbol : rule.symbols) {
    values.push_back(symbol.name == "n"   ? ExprAttr(IndexExpr(4))
                     : symbol.name == "a" ? ExprAttr(ScalarExpr(a))
                                          : ExprAttr(ScalarExpr(b)));
  }
  std::vector<NodePtr> nodes;
  const Value x(Node::Input(0, {dtype, {4}}), 0);
  auto outputs = BuildPattern(rule, rule.target, {x}, values, dtype, &nodes);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return std::string(CheckNumbers(rule.target, nodes, values).message());
}

TEST(HeldNumbersTest, OneRoundingIsNone) {
  EXPECT_TRUE(IsRounded(0.1, static_cast<float>(0.1), DType::kF32));
  EXPECT_FALSE(IsRounded(0.1, static_cast<float>(0.1), DType::kF64));
  EXPECT_FALSE(IsRounded(0.1, 0.1 * (1 + 0x1p-20), DType::kF32));
  EXPECT_TRUE(IsRounded(0.1, 0.0999755859375, DType::kF16));
  EXPECT_FALSE(IsRounded(1e-50, 0, DType::kF32));
  EXPECT_FALSE(IsRounded(1e6, kInfinity, DType::kF16));
  EXPECT_TRUE(IsRounded(kInfinity, kInfinity, DType::kF16));
  EXPECT_TRUE(IsRounded(std::nan(""), std::nan(""), DType::kF32));
  EXPECT_FALSE(IsRounded(0.5, 0, DType::kI32));
}

TEST(HeldNumbersTest, ProductsDoNotVanish) {
  const std::string product = "z = scalar_mul(x) {alpha = a * b}";
  EXPECT_EQ(Lost(product, DType::kF32, 0.1, 0.2), "");
  EXPECT_EQ(Lost(product, DType::kF32, 0, 1e-300), "");
  EXPECT_EQ(Lost(product, DType::kF64, 1e-100, 1e-100), "");
  EXPECT_THAT(Lost(product, DType::kF32, 1e-100, 1e-100), HasSubstr("another number in f32"));
  EXPECT_THAT(Lost(product, DType::kF64, 1e-200, 1e-200), HasSubstr("another number in double"));
  EXPECT_THAT(Lost(product, DType::kF64, 1e200, 1e200), HasSubstr("another number in double"));
  EXPECT_THAT(Lost(product, DType::kF16, 1e3, 1e3), HasSubstr("another number in f16"));
  const std::string literal = "z = scalar_mul(x) {alpha = 100000.0}";
  EXPECT_EQ(Lost(literal, DType::kBF16, 1, 1), "");
  EXPECT_THAT(Lost(literal, DType::kF16, 1, 1), HasSubstr("another number in f16"));
}

// (a + b) - a is b, but 0 in floating point if a is large; the sum alone is rounded once.
TEST(HeldNumbersTest, WhatIsLeftOfADifferenceIsExact) {
  const std::string difference = "z = scalar_mul(x) {alpha = a + b - a}";
  EXPECT_EQ(Lost(difference, DType::kF64, 1, 2), "");
  EXPECT_THAT(Lost(difference, DType::kF64, 1e30, 1), HasSubstr("another number in double"));
  EXPECT_THAT(Lost(difference, DType::kF64, 1, 1e-14), HasSubstr("another number in double"));
  EXPECT_EQ(Lost("z = scalar_mul(x) {alpha = a - b}", DType::kF64, 1, 1), "");
}

TEST(HeldNumbersTest, ConstantsHoldTheirFill) {
  const std::string constant = "c = constant [] fill a d = mul(x, c) z = scalar_mul(d) {alpha = b}";
  EXPECT_EQ(Lost(constant, DType::kF16, 0.1, 1e-60), "");  // a symbol stands for itself
  EXPECT_THAT(Lost(constant, DType::kF16, 1e-9, 1), HasSubstr("another number as f16"));
  EXPECT_THAT(Lost(constant, DType::kBF16, 1e39, 1), HasSubstr("another number as bf16"));
}

}  // namespace
}  // namespace lemma
