#include "verifier/checker/algebra.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lemma::checker {
namespace {

constexpr AtomId kInfinityAtom = 0;  // the first that is made

}  // namespace

Algebra::Algebra(Level level, int64_t* work) : level_(level), work_(*work) {
  Atom infinity;
  infinity.kind = Atom::Kind::kInfinity;
  OfAtom(std::move(infinity));
}

bool operator<(const Atom& a, const Atom& b) {
  // Rational has no order; polynomials are ordered by their parts.
  auto less = [](const Polynomial& x, const Polynomial& y) {
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(),
                                        [](const auto& s, const auto& t) {
                                          return std::tie(s.first, s.second.num, s.second.den) <
                                                 std::tie(t.first, t.second.num, t.second.den);
                                        });
  };
  const auto ka = std::tie(a.kind, a.name, a.tensor, a.offset, a.fn),
             kb = std::tie(b.kind, b.name, b.tensor, b.offset, b.fn);
  if (ka != kb) return ka < kb;
  return std::lexicographical_compare(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(),
                                      less);
}

// ---- Rationals ----

Rational Algebra::Make(__int128 num, __int128 den) {
  if (den < 0) num = -num, den = -den;
  __int128 a = num < 0 ? -num : num, b = den;
  while (b != 0) std::tie(a, b) = std::make_pair(b, a % b);
  if (a > 1) num /= a, den /= a;
  constexpr __int128 kLimit = INT64_MAX;
  if (num > kLimit || num < -kLimit || den > kLimit || den <= 0) {
    Fail("a coefficient leaves 64 bits");
    return {1, 1};
  }
  return {static_cast<int64_t>(num), static_cast<int64_t>(den)};
}
Rational Algebra::Add(Rational a, Rational b) {
  if (a.den == 1 && b.den == 1) return Make(static_cast<__int128>(a.num) + b.num, 1);
  // Two products of 63 bits and their sum stay below 127.
  return Make(static_cast<__int128>(a.num) * b.den + static_cast<__int128>(b.num) * a.den,
              static_cast<__int128>(a.den) * b.den);
}
Rational Algebra::Mul(Rational a, Rational b) {
  return Make(static_cast<__int128>(a.num) * b.num, static_cast<__int128>(a.den) * b.den);
}
Rational Algebra::Div(Rational a, Rational b) {
  return Make(static_cast<__int128>(a.num) * b.den, static_cast<__int128>(a.den) * b.num);
}
bool Algebra::Less(Rational a, Rational b) {
  return static_cast<__int128>(a.num) * b.den < static_cast<__int128>(b.num) * a.den;
}

// ---- Polynomials ----

Value Algebra::Number(Rational r) const {
  Polynomial p;
  if (r.num != 0) p[{}] = r;
  return Share(std::move(p));
}

Value Algebra::OfAtom(Atom atom, AtomFacts facts) {
  auto [it, added] = ids_.emplace(std::move(atom), static_cast<AtomId>(atoms_.size()));
  if (added) {
    atoms_.push_back(it->first);
    facts_.push_back(facts);
    for (const Polynomial& arg : it->first.args) work_ += 1 + static_cast<int64_t>(arg.size());
  }
  return Share({{{{it->second, 1}}, {1, 1}}});
}

Value Algebra::Input(int tensor, int64_t offset, DType dtype) {
  Atom atom;
  atom.kind = Atom::Kind::kInput;
  atom.tensor = tensor;
  atom.offset = offset;
  return OfAtom(std::move(atom), {dtype == DType::kBool, !lemma::IsReal(dtype)});
}

Value Algebra::Param(const std::string& name) {
  Atom atom;
  atom.kind = Atom::Kind::kParam;
  atom.name = name;
  return OfAtom(std::move(atom));
}

// m * 2^e is a rational if both are small. Otherwise m is an atom, so that products stay exact.
Value Algebra::Constant(double value) {
  Atom atom;
  atom.kind = Atom::Kind::kConstant;
  if (std::isnan(value)) {
    Fail("a constant is no number");
    return Integer(0);
  }
  if (std::isinf(value)) {
    atom.kind = Atom::Kind::kInfinity;
    return Sum(Integer(0), OfAtom(std::move(atom)), {value > 0 ? 1 : -1, 1});
  }
  if (value == 0) {
    if (!std::signbit(value) || level_ != Level::kBits) return Integer(0);
    atom.name = "-0";
    return OfAtom(std::move(atom));
  }
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);
  while (mantissa != std::floor(mantissa)) mantissa *= 2, --exponent;
  const bool exact = std::abs(mantissa) < 0x1p24 && std::abs(exponent) <= 24;
  const int64_t power = int64_t{1} << std::min(62, std::abs(exponent));
  const Rational scale = exponent >= 0 ? Rational{power, 1} : Rational{1, power};
  if (exact) return Number(Mul({static_cast<int64_t>(mantissa), 1}, scale));
  const bool keep_sign = level_ == Level::kBits;
  atom.name = absl::StrFormat("%.17g", keep_sign ? value : std::abs(value));
  return Sum(Integer(0), OfAtom(std::move(atom)), {value < 0 && !keep_sign ? -1 : 1, 1});
}

bool Algebra::IsNumber(const Value& x, Rational* number) {
  if (x->empty()) *number = {0, 1};
  if (x->size() == 1 && x->begin()->first.empty()) *number = x->begin()->second;
  return x->empty() || (x->size() == 1 && x->begin()->first.empty());
}

bool Algebra::IsInfinite(const Polynomial& x) {
  return x.size() == 1 && x.begin()->first == Monomial{{kInfinityAtom, 1}};
}

void Algebra::AddTo(Polynomial* sum, const Polynomial& x, Rational factor) {
  work_ += static_cast<int64_t>(x.size());
  for (const auto& [m, c] : x) {
    auto [it, added] = sum->emplace(m, Rational{0, 1});
    it->second = Add(it->second, Mul(c, factor));
    if (it->second.num == 0) sum->erase(it);
  }
}

Value Algebra::Sum(const Value& a, const Value& b, Rational factor) {
  if (b->empty()) return a;
  if (a->empty() && factor == Rational{1, 1}) return b;
  if (IsInfinite(*a) || (IsInfinite(*b) && !a->empty())) Fail("arithmetic with an infinity");
  Polynomial sum = *a;
  AddTo(&sum, *b, factor);
  return Share(std::move(sum));
}

Monomial Algebra::Times(const Monomial& a, const Monomial& b) {
  Monomial product;
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->first < j->first)) {
      product.push_back(*i++);
    } else if (i == a.end() || j->first < i->first) {
      product.push_back(*j++);
    } else {
      // A truth value is its own square.
      const int power = facts_[i->first].truth ? 1 : i->second + j->second;
      product.emplace_back(i->first, power);
      ++i, ++j;
    }
  }
  return product;
}

Value Algebra::Product(const Value& a, const Value& b) {
  if (IsInfinite(*a) || IsInfinite(*b)) Fail("arithmetic with an infinity");
  Polynomial product;
  for (const auto& [m, c] : *a) {
    for (const auto& [n, d] : *b) {
      ++work_;
      size_t i = 0, j = 0;
      const Polynomial *x = ExponentOf(m, &i), *y = ExponentOf(n, &j);
      if (x == nullptr || y == nullptr) {
        AddTo(&product, {{Times(m, n), Mul(c, d)}}, {1, 1});
        continue;
      }
      // exp(x) * exp(y) = exp(x + y)
      Monomial rest_m = m, rest_n = n;
      rest_m.erase(rest_m.begin() + i);
      rest_n.erase(rest_n.begin() + j);
      const Value rest = Share({{Times(rest_m, rest_n), Mul(c, d)}});
      AddTo(&product, *Product(Exp(Sum(Share(*x), Share(*y))), rest), {1, 1});
    }
  }
  if (level_ == Level::kReal) product = WithoutSquares(product);
  return Share(std::move(product));
}

// ---- Facts ----

bool Algebra::IsTruth(const Polynomial& x) const {
  if (x.empty()) return true;
  for (const auto& [m, c] : x) {
    for (const auto& [atom, power] : m) {
      if (!facts_[atom].truth) return false;
    }
  }
  // 1, a product of truth values, or 1 minus such a product.
  if (x.size() == 1) return x.begin()->second == Rational{1, 1};
  const auto first = x.begin(), second = std::next(first);
  return x.size() == 2 && first->first.empty() && first->second == Rational{1, 1} &&
         second->second == Rational{-1, 1};
}

bool Algebra::IsInteger(const Polynomial& x) const {
  return std::all_of(x.begin(), x.end(), [&](const auto& term) {
    return term.second.den == 1 &&
           std::all_of(term.first.begin(), term.first.end(), [&](const auto& factor) {
             return facts_[factor.first].integer || facts_[factor.first].truth;
           });
  });
}

std::vector<std::pair<Monomial, Rational>> Algebra::LeastCoefficients(
    const std::vector<Polynomial>& set) {
  std::map<Monomial, std::pair<size_t, Rational>> least;  // and how many polynomials have the
                                                          // monomial
  for (const Polynomial& p : set) {
    for (const auto& [m, c] : p) {
      auto [it, added] = least.emplace(m, std::make_pair(size_t{1}, c));
      if (added) continue;
      ++it->second.first;
      if (Less(c, it->second.second)) it->second.second = c;
    }
  }
  std::vector<std::pair<Monomial, Rational>> result;
  for (const auto& [m, entry] : least) {
    // Where a polynomial lacks the monomial, its coefficient is 0.
    if (entry.first == set.size() || entry.second.num < 0) result.emplace_back(m, entry.second);
  }
  return result;
}

Rational Algebra::Content(const std::vector<Polynomial>& set) {
  int64_t num = 0;
  __int128 den = 1;
  for (const Polynomial& p : set) {
    for (const auto& [m, c] : p) {
      num = std::gcd(num, c.num);
      den = den / std::gcd(static_cast<int64_t>(den), c.den) * c.den;
      if (den > INT64_MAX) {
        Fail("a coefficient leaves 64 bits");
        return {1, 1};
      }
    }
  }
  return num == 0 ? Rational{1, 1} : Make(num, den);
}

}  // namespace lemma::checker
