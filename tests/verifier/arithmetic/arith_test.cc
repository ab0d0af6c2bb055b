// The arithmetic layer against brute force.
#include "verifier/arithmetic/arith.h"

#include <random>

#include "gtest/gtest.h"

namespace lemma::prover {
namespace {

class ArithTest : public ::testing::Test {
 protected:
  Leaves leaves_;
  Arith arith_{&leaves_};
};

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

TEST_F(ArithTest, DividesPolynomials) {
  const Poly b = Poly::Of(leaves_.Symbol("b")), x = Poly::Of(leaves_.Symbol("x")),
             r = Poly::Of(leaves_.Symbol("r"));
  EXPECT_EQ(leaves_.Div(b * x, b), x);
  EXPECT_EQ(leaves_.Div(b * x + r, b), x + leaves_.Div(r, b));
  EXPECT_EQ(leaves_.Mod(b * x + r, b), leaves_.Mod(r, b));
  const Facts digit = {Fact::Ge(r), Fact::Ge(b - 1 - r)};
  EXPECT_EQ(arith_.SimplifyDivs(digit, leaves_.Div(b * x + r, b)), x);
  EXPECT_NE(arith_.SimplifyDivs({Fact::Ge(r)}, leaves_.Div(b * x + r, b)), x);
}

// A divisor that may be 0 must not make every fact follow.
TEST_F(ArithTest, KnowsNothingOfADivisionByZero) {
  const Poly n = Poly::Of(leaves_.Symbol("n")), d = Poly::Of(leaves_.Symbol("d"));
  const Facts context = {Fact::Ge(n), Fact::Ge(leaves_.Div(n, d) - 1), Fact::Eq(d)};
  EXPECT_FALSE(arith_.Unsatisfiable(context, Effort::kFull));
  EXPECT_FALSE(arith_.Implied(context, Fact::Ge(-n), Effort::kFull));
}

TEST_F(ArithTest, AnOverflowIsNeverEqual) {
  const Poly big = Poly(INT64_MAX) * Poly::Of(leaves_.Symbol("x"));
  const Poly over = big + big;
  EXPECT_TRUE(over.overflowed());
  EXPECT_NE(over, over);
  EXPECT_FALSE(arith_.Implied({}, Fact::Eq(over - over), Effort::kFull));
}

TEST_F(ArithTest, AnOverflowStaysOneInsideLeaves) {
  const Poly x = Poly::Of(leaves_.Symbol("x")), n = Poly::Of(leaves_.Symbol("n"));
  const Poly over = Poly(INT64_MAX) * x + Poly(INT64_MAX) * x;
  for (const Poly& y : {Poly(2), n, n + 1, Poly(INT64_MIN)}) {
    for (const Poly& result : {leaves_.Div(over, y), leaves_.Mod(over, y), leaves_.Min(over, y),
                               leaves_.Max(y, over), leaves_.Div(y, over), leaves_.Mod(y, over)}) {
      EXPECT_TRUE(result.overflowed());
    }
  }
}

TEST_F(ArithTest, FindsBoundsOfMixedRadixNumbers) {
  Poly a = Poly::Of(leaves_.Symbol("a")), b = Poly::Of(leaves_.Symbol("b")),
       c = Poly::Of(leaves_.Symbol("c")), i = Poly::Of(leaves_.Symbol("i")),
       j = Poly::Of(leaves_.Symbol("j")), k = Poly::Of(leaves_.Symbol("k"));
  const Facts facts = {Fact::Ge(a - 1),     Fact::Ge(b - 1),     Fact::Ge(c - 1),
                       Fact::Ge(i),         Fact::Ge(a - 1 - i), Fact::Ge(j),
                       Fact::Ge(b - 1 - j), Fact::Ge(k),         Fact::Ge(c - 1 - k)};
  const Poly flat = i * b * c + j * c + k;
  EXPECT_TRUE(arith_.Implied(facts, Fact::Ge(a * b * c - 1 - flat)));
  EXPECT_FALSE(arith_.Implied(facts, Fact::Ge(a * b * c - 2 - flat), Effort::kFull));
}

// If a fact is said to follow, it holds at every point of a box at which the given facts hold.
TEST_F(ArithTest, ImpliesNothingFalse) {
  const uint64_t seed = 20240611;
  std::mt19937_64 random(seed);
  const Leaf names[] = {leaves_.Symbol("x"), leaves_.Symbol("y"), leaves_.Symbol("z")};
  auto number = [&](int range) { return static_cast<int64_t>(random() % (2 * range + 1)) - range; };
  auto some_poly = [&](bool with_div) {
    Poly p = number(4);
    for (Leaf leaf : names) p = p + Poly(number(2)) * Poly::Of(leaf);
    if (random() % 2 == 0) p = p + Poly::Of(names[random() % 3]) * Poly::Of(names[random() % 3]);
    if (with_div && random() % 2 == 0) {
      p = p + leaves_.Div(Poly::Of(names[random() % 3]) + number(3),
                          random() % 2 == 0 ? Poly(2 + static_cast<int64_t>(random() % 3))
                                            : Poly::Of(names[random() % 3]) + 5);
    }
    return p;
  };
  std::function<int64_t(const Poly&, const std::map<Leaf, int64_t>&)> value =
      [&](const Poly& p, const std::map<Leaf, int64_t>& at) {
        int64_t sum = 0;
        for (const auto& [m, c] : p.terms()) {
          int64_t product = c;
          for (Leaf leaf : m) {
            const LeafInfo& info = leaves_.Info(leaf);
            product *= info.kind == LeafInfo::Kind::kDiv
                           ? FloorDiv(value(info.a, at), value(info.b, at))
                           : at.at(leaf);
          }
          sum += product;
        }
        return sum;
      };
  auto holds = [&](const Fact& fact, const std::map<Leaf, int64_t>& at) {
    const int64_t v = value(fact.p, at);
    return fact.kind == Fact::Kind::kGe ? v >= 0 : fact.kind == Fact::Kind::kEq ? v == 0 : v != 0;
  };
  int implied = 0;
  for (int round = 0; round < 300; ++round) {
    Facts facts;
    for (Leaf leaf : names) {
      facts.push_back(Fact::Ge(Poly::Of(leaf) + 2));
      facts.push_back(Fact::Ge(Poly(3) - Poly::Of(leaf)));
    }
    for (int i = 0; i < 2; ++i) facts.push_back(Fact::Ge(some_poly(true)));
    const Fact goal = random() % 4 == 0 ? Fact::Eq(some_poly(true)) : Fact::Ge(some_poly(true) + 5);
    const Fact simpler = arith_.SimplifyFact(facts, goal);
    const bool claimed = arith_.Implied(facts, goal, Effort::kFull);
    implied += claimed;
    for (int64_t x = -2; x <= 3; ++x) {
      for (int64_t y = -2; y <= 3; ++y) {
        for (int64_t z = -2; z <= 3; ++z) {
          const std::map<Leaf, int64_t> at = {{names[0], x}, {names[1], y}, {names[2], z}};
          bool all = true;
          for (const Fact& fact : facts) all = all && holds(fact, at);
          if (!all) continue;
          ASSERT_TRUE(!claimed || holds(goal, at))
              << "seed " << seed << " round " << round << ": " << leaves_.ToString(goal.p);
          ASSERT_EQ(holds(goal, at), holds(simpler, at))
              << "seed " << seed << " round " << round << ": " << leaves_.ToString(goal.p) << " => "
              << leaves_.ToString(simpler.p);
        }
      }
    }
  }
  EXPECT_GT(implied, 10);
}

}  // namespace
}  // namespace lemma::prover
