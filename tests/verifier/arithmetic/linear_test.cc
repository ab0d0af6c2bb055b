// Linear inequalities against brute force.
#include "verifier/arithmetic/linear.h"

#include <random>
#include <utility>

#include "gtest/gtest.h"

namespace lemma::prover {
namespace {

TEST(LinearTest, DecidesByASum) {
  Leaves leaves;
  const Poly x = Poly::Of(leaves.NewVar("x")), y = Poly::Of(leaves.NewVar("y"));
  EXPECT_EQ(DecideLinear({Fact::Ge(x - 2 * y), Fact::Ge(3 * y - 5), Fact::Ge(2 - x)}),
            Satisfiable::kNo);
  EXPECT_EQ(DecideLinear({Fact::Eq(x - 2 * y), Fact::Ge(y - 3), Fact::Ge(5 - x)}),
            Satisfiable::kNo);
  EXPECT_EQ(DecideLinear({Fact::Eq(x - 2 * y), Fact::Ge(y - 3), Fact::Ge(6 - x)}),
            Satisfiable::kYes);
  // Products count as unknowns.
  EXPECT_EQ(DecideLinear({Fact::Ge(x - 1), Fact::Ge(y - 1), Fact::Ge(-x * y)}), Satisfiable::kYes);
  EXPECT_EQ(DecideLinear({Fact::Ge(x * y - x), Fact::Ge(x - 1), Fact::Ge(-x * y)}),
            Satisfiable::kNo);
  // Bounds of sums are rounded first: 2x - 2y >= 1 is x - y >= 1.
  EXPECT_EQ(DecideLinear({Fact::Ge(2 * x - 2 * y - 1), Fact::Ge(1 - 2 * x + 2 * y)}),
            Satisfiable::kNo);
  EXPECT_NE(DecideLinear({Fact{Fact::Kind::kNe, x}, Fact::Eq(x)}), Satisfiable::kYes);
}

// How often the answer is kNo and kYes. Coefficients are up to 3 times up to 2^bits.
std::pair<int, int> CompareWithBruteForce(int bits, int rounds) {
  const uint64_t seed = 20240611;
  std::mt19937 random(seed);
  int no = 0, yes = 0;
  for (int round = 0; round < rounds; ++round) {
    Leaves leaves;
    const Leaf names[] = {leaves.NewVar("x"), leaves.NewVar("y"), leaves.NewVar("z")};
    auto coefficient = [&] {
      return (static_cast<int64_t>(random() % 7) - 3) * (int64_t{1} << random() % (bits + 1)) +
             (bits > 0 ? static_cast<int64_t>(random() % 3) : 0);
    };
    Facts facts;
    for (Leaf leaf : names) {
      facts.push_back(Fact::Ge(Poly::Of(leaf) + 2));
      facts.push_back(Fact::Ge(Poly(3) - Poly::Of(leaf)));
    }
    const int more = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < more; ++i) {
      Poly p = coefficient() * 2;
      for (Leaf leaf : names) p = p + coefficient() * Poly::Of(leaf);
      const uint32_t kind = random() % 6;
      facts.push_back({kind == 0   ? Fact::Kind::kEq
                       : kind == 1 ? Fact::Kind::kNe
                                   : Fact::Kind::kGe,
                       p});
    }
    bool possible = false;
    for (int point = 0; point < 6 * 6 * 6 && !possible; ++point) {
      const int64_t at[] = {point % 6 - 2, point / 6 % 6 - 2, point / 36 - 2};
      possible = true;
      for (const Fact& fact : facts) {
        __int128 value = fact.p.ConstantTerm();
        for (int i = 0; i < 3; ++i) {
          value += static_cast<__int128>(fact.p.CoefficientOf({names[i]})) * at[i];
        }
        possible = possible && (fact.kind == Fact::Kind::kGe   ? value >= 0
                                : fact.kind == Fact::Kind::kEq ? value == 0
                                                               : value != 0);
      }
    }
    const Satisfiable answer = DecideLinear(facts);
    no += answer == Satisfiable::kNo;
    yes += answer == Satisfiable::kYes;
    EXPECT_TRUE(answer != Satisfiable::kNo || !possible) << "seed " << seed << " round " << round;
    EXPECT_TRUE(answer != Satisfiable::kYes || possible) << "seed " << seed << " round " << round;
  }
  return {no, yes};
}

TEST(LinearTest, SaysNothingFalse) {
  const auto [no, yes] = CompareWithBruteForce(0, 3000);
  EXPECT_GT(no, 300);
  EXPECT_GT(yes, 300);
}

// If sums or products exceed 64 bits, there is no answer.
TEST(LinearTest, SaysNothingFalseOfLargeNumbers) {
  for (int bits : {20, 40, 59}) {
    const auto [no, yes] = CompareWithBruteForce(bits, 3000);
    EXPECT_GT(no, 100) << bits;
    EXPECT_GT(yes, 100) << bits;
  }
  Leaves leaves;
  const Poly x = Poly::Of(leaves.NewVar("x")), y = Poly::Of(leaves.NewVar("y"));
  const Poly large = int64_t{1} << 62;
  EXPECT_EQ(DecideLinear({Fact::Ge(large * x), Fact::Ge(large * large * y - x)}),
            Satisfiable::kUnknown);
}

}  // namespace
}  // namespace lemma::prover
