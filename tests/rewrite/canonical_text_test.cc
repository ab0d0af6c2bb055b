#include "rewrite/rules/canonical_text.h"

#include <string>

#include "gtest/gtest.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

std::string TextOf(const std::string& rule) {
  auto rules = ParseRules(rule);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? CanonicalText(rules->front()) : "";
}

constexpr char kRule[] = R"(
  rule first(x: [b..,m,k], y: [k,n], z: [n]) reassociates
    where m = n, k > 2 {
    p = matmul(x, y)
    a = relu(z)
    s = add(p, a)
    return s
  } => {
    c = relu(z)
    q = matmul(x, y)
    s = add(q, c)
    return s
  })";

TEST(CanonicalTextTest, ForgetsNamesAndOrder) {
  EXPECT_EQ(TextOf(kRule), TextOf(R"(
  # A comment.
  rule other(bias: [l], w: [j,l], data: [c..,i,j]) reassociates where j > 2, i = l {
    u = relu(bias)
    v = matmul(data, w)
    t = add(u, v)
    return t
  } => {
    v = matmul(data, w)
    u = relu(bias)
    t = add(u, v)
    return t
  }
  proved reassociates "1" "all")"));
}

TEST(CanonicalTextTest, TellsRulesApart) {
  const std::pair<const char*, const char*> edits[] = {
      {"reassociates", "bit_exact"},
      {"x: [b..,m,k]", "x: weight [b..,m,k]"},
      {"x: [b..,m,k]", "x: f32[b..,m,k]"},
      {"z: [n]", "z: [k]"},
      {"k > 2", "k > 3"},
      {"k > 2", "k >= 2"},
      {"m = n", "m = k"},
      {"a = relu(z)", "a = neg(z)"},
      {"add(q, c)", "add(q, z)"},
      {"s = add(p, a)", "s = sub(p, a)"},
      {"[b..,m,k]", "[m,k]"},
  };
  for (const auto& [from, to] : edits) {
    std::string edited = kRule;
    ASSERT_NE(edited.find(from), std::string::npos) << from;
    edited.replace(edited.find(from), std::string(from).size(), to);
    if (std::string(to) == "add(q, z)") edited.replace(edited.find("c = relu(z)"), 11, "");
    EXPECT_NE(TextOf(edited), TextOf(kRule)) << from << " -> " << to;
  }
}

// The direction of a rule, and the order of operands that may not be swapped, count.
TEST(CanonicalTextTest, KeepsDirectionAndOperandOrder) {
  EXPECT_NE(TextOf("rule r(x: [n]) bit_exact { a = relu(x) b = relu(a) return b } => "
                   "{ a = relu(x) return a }"),
            TextOf("rule r(x: [n]) bit_exact { a = relu(x) return a } => "
                   "{ a = relu(x) b = relu(a) return b }"));
  EXPECT_NE(TextOf("rule r(x: [n], y: [n]) bit_exact { a = sub(x, y) b = relu(a) return b } => "
                   "{ a = sub(x, y) return a }"),
            TextOf("rule r(x: [n], y: [n]) bit_exact { a = sub(x, y) b = relu(a) return b } => "
                   "{ a = sub(y, x) return a }"));
}

}  // namespace
}  // namespace lemma
