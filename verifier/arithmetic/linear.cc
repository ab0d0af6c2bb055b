// The general simplex method (Dutertre and de Moura, A Fast Linear-Arithmetic Solver for DPLL(T)),
// in rational numbers, with Bland's rule.
#include "verifier/arithmetic/linear.h"

#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/work.h"

namespace lemma::prover {
namespace {

constexpr int kMaxPivots = 200;

// A 64-bit rational. A result that does not fit is not a number, and stays so.
class Rational {
 public:
  Rational(int64_t n = 0) : n_(n) {}  // NOLINT: a number reads as itself
  int64_t numerator() const { return n_; }
  int64_t denominator() const { return d_; }  // positive; 0: not a number
  bool IsZero() const { return n_ == 0 && d_ != 0; }
  bool IsNumber() const { return d_ != 0; }
  int Sign() const { return n_ > 0 ? 1 : n_ < 0 ? -1 : 0; }

  friend Rational operator+(const Rational& a, const Rational& b) {
    int64_t sum = 0;
    if (a.d_ == 1 && b.d_ == 1 && !__builtin_add_overflow(a.n_, b.n_, &sum)) return sum;
    return Of(static_cast<__int128>(a.n_) * b.d_ + static_cast<__int128>(b.n_) * a.d_,
              static_cast<__int128>(a.d_) * b.d_);
  }
  friend Rational operator-(const Rational& a) { return Rational(0) - a; }
  friend Rational operator-(const Rational& a, const Rational& b) {
    int64_t difference = 0;
    if (a.d_ == 1 && b.d_ == 1 && !__builtin_sub_overflow(a.n_, b.n_, &difference)) {
      return difference;
    }
    return Of(static_cast<__int128>(a.n_) * b.d_ - static_cast<__int128>(b.n_) * a.d_,
              static_cast<__int128>(a.d_) * b.d_);
  }
  friend Rational operator*(const Rational& a, const Rational& b) {
    int64_t product = 0;
    if (a.d_ == 1 && b.d_ == 1 && !__builtin_mul_overflow(a.n_, b.n_, &product)) return product;
    return Of(static_cast<__int128>(a.n_) * b.n_, static_cast<__int128>(a.d_) * b.d_);
  }
  friend Rational operator/(const Rational& a, const Rational& b) {
    if (b.n_ < 0) return -a / -b;
    return Of(static_cast<__int128>(a.n_) * b.d_, static_cast<__int128>(a.d_) * b.n_);
  }
  friend bool operator<(const Rational& a, const Rational& b) { return (a - b).Sign() < 0; }

 private:
  static Rational Of(__int128 n, __int128 d) {
    Rational result;
    result.d_ = 0;
    if (d <= 0) return result;
    __int128 a = n < 0 ? -n : n, b = d;
    while (b != 0) std::swap(a %= b, b);
    n /= a;
    d /= a;
    constexpr __int128 kMost = int64_t{1} << 62;
    if (n > kMost || n < -kMost || d > kMost) return result;
    result.n_ = static_cast<int64_t>(n);
    result.d_ = static_cast<int64_t>(d);
    return result;
  }
  int64_t n_ = 0, d_ = 1;
};

// A bound of an unknown, from a fact.
struct Bound {
  Rational value;
  int fact = -1;
};

// Unknowns are monomials, followed by sums: a fact with several monomials is a bound on their sum.
// A row gives a basic unknown as a linear combination of the others; at first the sums are basic.
class Simplex {
 public:
  explicit Simplex(const Facts& facts) : facts_(facts), sums_(facts.size()) {
    std::map<Monomial, int> monomials;
    for (size_t i = 0; i < facts.size(); ++i) {
      for (const auto& [m, c] : facts[i].p.terms()) {
        if (m.empty()) continue;
        const int unknown = monomials.emplace(m, static_cast<int>(monomials.size())).first->second;
        sums_[i].emplace_back(unknown, c);
      }
    }
    num_monomials_ = static_cast<int>(monomials.size());
    low_.resize(num_monomials_);
    high_.resize(num_monomials_);
    for (int m = 0; m < num_monomials_; ++m) columns_.push_back(m);
    for (size_t i = 0; i < facts.size(); ++i) {
      if (sums_[i].empty() || facts[i].kind == Fact::Kind::kNe) continue;
      int unknown = sums_[i][0].first;
      if (sums_[i].size() > 1) {
        unknown = static_cast<int>(low_.size());
        low_.emplace_back();
        high_.emplace_back();
        rows_.push_back({unknown, std::vector<Rational>(num_monomials_)});
        for (const auto& [m, c] : sums_[i]) rows_.back().coefficients[m] = c;
      }
      AddBound(unknown, static_cast<int>(i));
    }
    values_.resize(low_.size());
    SpendWork(static_cast<int64_t>(rows_.size()) * num_monomials_ / 8);
  }

  Satisfiable Run() {
    for (int m = 0; m < num_monomials_; ++m) {
      if (HasLow(m) && HasHigh(m) && high_[m].value < low_[m].value) {
        return Check({Multiple(m, true), Multiple(m, false)});
      }
      if (HasLow(m)) {
        values_[m] = low_[m].value;
      } else if (HasHigh(m) && high_[m].value < values_[m]) {
        values_[m] = high_[m].value;
      }
    }
    for (const Row& row : rows_) {
      Rational& sum = values_[row.unknown];
      for (int m = 0; m < num_monomials_; ++m) {
        if (!row.coefficients[m].IsZero()) sum = sum + row.coefficients[m] * values_[m];
      }
      if (!sum.IsNumber()) return Satisfiable::kUnknown;
    }
    for (int pivot = 0; pivot < kMaxPivots; ++pivot) {
      Row* row = Violated();
      if (row == nullptr) return Holds() ? Satisfiable::kYes : Satisfiable::kUnknown;
      const bool up = BelowLow(row->unknown);
      const int column = Entering(*row, up);
      if (column < 0) return Check(Explanation(*row, up));
      Pivot(row, column, up ? low_[row->unknown].value : high_[row->unknown].value);
      if (overflow_) return Satisfiable::kUnknown;
    }
    return Satisfiable::kUnknown;
  }

 private:
  struct Row {
    int unknown;
    std::vector<Rational> coefficients;  // by column
  };

  bool HasLow(int u) const { return low_[u].fact >= 0; }
  bool HasHigh(int u) const { return high_[u].fact >= 0; }
  bool BelowLow(int u) const { return HasLow(u) && values_[u] < low_[u].value; }
  bool AboveHigh(int u) const { return HasHigh(u) && high_[u].value < values_[u]; }

  // Writes the fact as factor * unknown + constant.
  int64_t FactorOf(int unknown, int fact) const {
    return unknown < num_monomials_ ? sums_[fact][0].second : 1;
  }

  void AddBound(int unknown, int fact) {
    const int64_t c = FactorOf(unknown, fact);
    const Rational value = Rational(-facts_[fact].p.ConstantTerm()) / Rational(c);
    const bool equal = facts_[fact].kind == Fact::Kind::kEq;
    if ((equal || c > 0) && (!HasLow(unknown) || low_[unknown].value < value)) {
      low_[unknown] = {value, fact};
    }
    if ((equal || c < 0) && (!HasHigh(unknown) || value < high_[unknown].value)) {
      high_[unknown] = {value, fact};
    }
  }

  // The row with the least unknown that violates one of its bounds; nullptr if none does.
  Row* Violated() {
    Row* least = nullptr;
    for (Row& row : rows_) {
      if (least != nullptr && least->unknown < row.unknown) continue;
      if (BelowLow(row.unknown) || AboveHigh(row.unknown)) least = &row;
    }
    return least;
  }

  // The column of the least unknown that can change so that the row's unknown rises (or falls); -1
  // if there is none.
  int Entering(const Row& row, bool up) const {
    int best = -1;
    for (int j = 0; j < num_monomials_; ++j) {
      const int sign = row.coefficients[j].Sign(), u = columns_[j];
      if (sign == 0 || (best >= 0 && columns_[best] < u)) continue;
      const bool rises = (sign > 0) == up;
      const bool can = rises ? !HasHigh(u) || values_[u] < high_[u].value
                             : !HasLow(u) || low_[u].value < values_[u];
      if (can) best = j;
    }
    return best;
  }

  // Sets the row's unknown to `value` and exchanges it with the column's unknown.
  void Pivot(Row* pivot, int column, const Rational& value) {
    const int out = pivot->unknown, in = columns_[column];
    std::vector<Rational>& own = pivot->coefficients;
    const Rational coefficient = own[column];
    const Rational step = (value - values_[out]) / coefficient;
    values_[out] = value;
    values_[in] = values_[in] + step;
    overflow_ = overflow_ || !values_[in].IsNumber();
    // in = out / coefficient - the others / coefficient.
    for (Rational& c : own) {
      if (!c.IsZero()) c = -c / coefficient;
      overflow_ = overflow_ || !c.IsNumber();
    }
    own[column] = Rational(1) / coefficient;
    overflow_ = overflow_ || !own[column].IsNumber();
    pivot->unknown = in;
    columns_[column] = out;
    for (Row& row : rows_) {
      if (&row == pivot || row.coefficients[column].IsZero()) continue;
      const Rational factor = row.coefficients[column];
      row.coefficients[column] = 0;
      values_[row.unknown] = values_[row.unknown] + factor * step;
      overflow_ = overflow_ || !values_[row.unknown].IsNumber();
      SpendWork(num_monomials_ / 2);
      for (int j = 0; j < num_monomials_; ++j) {
        if (own[j].IsZero()) continue;
        row.coefficients[j] = row.coefficients[j] + factor * own[j];
        overflow_ = overflow_ || !row.coefficients[j].IsNumber();
      }
    }
  }

  using Multiples = std::vector<std::pair<int, Rational>>;  // of facts

  // The multiple of a fact that says unknown - lower bound >= 0 or upper bound - unknown >= 0.
  std::pair<int, Rational> Multiple(int unknown, bool low) const {
    const int fact = low ? low_[unknown].fact : high_[unknown].fact;
    const Rational times = Rational(1) / Rational(FactorOf(unknown, fact));
    return {fact, low ? times : -times};
  }

  // The row's unknown violates its bound, and the bounds of the other unknowns of the row keep it
  // there. Returns the facts that contradict each other.
  Multiples Explanation(const Row& row, bool up) const {
    Multiples multiples = {Multiple(row.unknown, up)};
    for (int j = 0; j < num_monomials_; ++j) {
      const Rational& c = row.coefficients[j];
      if (c.IsZero()) continue;
      const bool at_high = (c.Sign() > 0) == up;
      auto [fact, times] = Multiple(columns_[j], !at_high);
      multiples.emplace_back(fact, times * (c.Sign() < 0 ? -c : c));
    }
    return multiples;
  }

  // kNo if the sum of these multiples is a negative constant. Trusts nothing else.
  Satisfiable Check(const Multiples& multiples) const {
    int64_t common = 1;
    for (const auto& [fact, times] : multiples) {
      if (!times.IsNumber()) return Satisfiable::kUnknown;
      const int64_t d = times.denominator() / std::gcd(common, times.denominator());
      if (__builtin_mul_overflow(common, d, &common)) return Satisfiable::kUnknown;
    }
    Poly sum;
    for (const auto& [fact, times] : multiples) {
      int64_t whole = 0;
      if (__builtin_mul_overflow(times.numerator(), common / times.denominator(), &whole)) {
        return Satisfiable::kUnknown;
      }
      if (facts_[fact].kind == Fact::Kind::kNe) return Satisfiable::kUnknown;
      if (facts_[fact].kind == Fact::Kind::kGe && whole < 0) return Satisfiable::kUnknown;
      sum = sum + facts_[fact].p * whole;
    }
    auto constant = sum.AsConst();
    return constant && *constant < 0 ? Satisfiable::kNo : Satisfiable::kUnknown;
  }

  // Checks all facts at the values of the monomials, if these are integers.
  bool Holds() const {
    for (int m = 0; m < num_monomials_; ++m) {
      if (values_[m].denominator() != 1) return false;
    }
    for (size_t i = 0; i < facts_.size(); ++i) {
      Rational sum = facts_[i].p.ConstantTerm();
      for (const auto& [m, c] : sums_[i]) sum = sum + Rational(c) * values_[m];
      if (!sum.IsNumber()) return false;
      const bool holds = facts_[i].kind == Fact::Kind::kGe   ? sum.Sign() >= 0
                         : facts_[i].kind == Fact::Kind::kEq ? sum.Sign() == 0
                                                             : sum.Sign() != 0;
      if (!holds) return false;
    }
    return true;
  }

  const Facts& facts_;
  int num_monomials_ = 0;
  std::vector<std::vector<std::pair<int, int64_t>>> sums_;  // of each fact
  std::vector<Bound> low_, high_;                           // of each unknown
  std::vector<Rational> values_;
  std::vector<int> columns_;  // unknowns that are not basic
  std::vector<Row> rows_;
  bool overflow_ = false;
};

}  // namespace

Satisfiable DecideLinear(const Facts& given) {
  Facts facts;
  for (const Fact& fact : given) {
    if (fact.p.overflowed()) return Satisfiable::kUnknown;
    facts.push_back(Normalized(fact));
  }
  SpendWork(static_cast<int64_t>(8 * facts.size()));
  return Simplex(facts).Run();
}

}  // namespace lemma::prover
