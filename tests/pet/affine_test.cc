#include "pet/regions/affine.h"

#include <functional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lemma::pet {
namespace {

constexpr int kVars = 3;

int64_t FloorOf(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// Three ranges, and affine functions of their positions.
class Case {
 public:
  explicit Case(uint64_t seed) : random_(seed) {
    for (int v = 0; v < kVars; ++v) ranges_.push_back({In(-5, 5), In(1, 9), In(1, 3)});
  }
  int64_t In(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random_() % static_cast<uint64_t>(hi - lo + 1));
  }
  std::vector<int64_t> Coefficients() {
    std::vector<int64_t> c = {In(-20, 20)};
    for (int v = 0; v < kVars; ++v) c.push_back(In(0, 2) == 0 ? 0 : In(-9, 9));
    return c;
  }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::mt19937_64 random_;
  std::vector<Range> ranges_;
};

Affine FormOf(const std::vector<int64_t>& c, const std::vector<Range>& ranges, AffineScope* scope) {
  Affine f = Affine::Of(c[0]);
  for (int v = 0; v < kVars; ++v) {
    f = Sum(f, PositionsOf(ranges[v], scope->Add(ranges[v].count)), c[v + 1]);
  }
  return f;
}

int64_t ValueAt(const std::vector<int64_t>& c, const std::vector<int64_t>& index) {
  int64_t value = c[0];
  for (int v = 0; v < kVars; ++v) value += c[v + 1] * index[v];
  return value;
}

// Asks about ever smaller pieces. Each answer must be right at all positions of its piece. Returns
// the number of pieces.
int Decide(const std::vector<Range>& ranges,
           const std::function<bool(const std::vector<Range>&, Cut*)>& answer) {
  Cut cut;
  if (answer(ranges, &cut)) return 1;
  EXPECT_GE(cut.var, 0);
  EXPECT_LT(cut.var, kVars);
  int pieces = 0;
  int64_t count = 0;
  for (const Range& piece : cut.Pieces(ranges[cut.var])) {
    EXPECT_GT(piece.count, 0);
    EXPECT_LT(piece.count, ranges[cut.var].count);
    if (piece.count < 1 || piece.count >= ranges[cut.var].count) return 0;
    count += piece.count;
    std::vector<Range> smaller = ranges;
    smaller[cut.var] = piece;
    pieces += Decide(smaller, answer);
  }
  EXPECT_EQ(count, ranges[cut.var].count);
  return pieces;
}

TEST(AffineTest, SignsAreRightOnEveryPiece) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Case random(seed);
    const std::vector<int64_t> c = random.Coefficients();
    for (bool zero : {false, true}) {
      Decide(random.ranges(), [&](const std::vector<Range>& ranges, Cut* cut) {
        AffineScope scope;
        const Affine f = FormOf(c, ranges, &scope);
        auto holds = zero ? scope.IsZero(f, cut) : scope.IsNonNegative(f, cut);
        if (!holds) return false;
        ForEachPosition(ranges, [&](const std::vector<int64_t>& index) {
          const int64_t value = ValueAt(c, index);
          EXPECT_EQ(zero ? value == 0 : value >= 0, *holds) << "seed " << seed;
        });
        return true;
      });
    }
  }
}

TEST(AffineTest, QuotientsAreRightOnEveryPiece) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Case random(seed);
    const std::vector<int64_t> c = random.Coefficients();
    const int64_t m = random.In(1, 12);
    Decide(random.ranges(), [&](const std::vector<Range>& ranges, Cut* cut) {
      AffineScope scope;
      auto quotient = scope.Quotient(FormOf(c, ranges, &scope), m, cut);
      if (!quotient) return false;
      std::vector<Range> counted;
      for (const Range& r : ranges) counted.push_back({0, r.count, 1});
      ForEachPosition(counted, [&](const std::vector<int64_t>& k) {
        std::vector<int64_t> index;
        int64_t value = quotient->base;
        for (int v = 0; v < kVars; ++v) index.push_back(ranges[v].start + k[v] * ranges[v].step);
        for (const auto& [var, a] : quotient->terms) value += a * k[static_cast<size_t>(var)];
        EXPECT_EQ(value, FloorOf(ValueAt(c, index), m)) << "seed " << seed;
      });
      return true;
    });
  }
}

TEST(AffineTest, ADigitThatAlternatesIsCutIntoResidues) {
  AffineScope scope;
  const Affine h = PositionsOf(Range{0, 14, 1}, scope.Add(14));
  Cut cut;
  EXPECT_FALSE(scope.Quotient(h, 2, &cut).has_value());
  EXPECT_EQ(cut.modulus, 2);
  EXPECT_FALSE(scope.Quotient(h, 7, &cut).has_value());
  EXPECT_EQ(cut.at, 7);
  EXPECT_EQ(cut.modulus, 0);
}

}  // namespace
}  // namespace lemma::pet
