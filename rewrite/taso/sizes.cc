#include "rewrite/taso/sizes.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lemma::taso {

Size::Size(int64_t constant) {
  if (constant != 0) terms_[{}] = constant;
}

Size Size::Of(int atom) {
  Size size;
  size.terms_[{atom}] = 1;
  return size;
}

std::optional<int64_t> Size::AsConst() const {
  if (overflowed_ || terms_.size() > 1) return std::nullopt;
  if (terms_.empty()) return 0;
  if (!terms_.begin()->first.empty()) return std::nullopt;
  return terms_.begin()->second;
}

void Size::Add(const Monomial& monomial, int64_t coefficient) {
  int64_t& c = terms_[monomial];
  if (__builtin_add_overflow(c, coefficient, &c)) overflowed_ = true;
  if (c == 0) terms_.erase(monomial);
}

Size Size::Sum(const Size& a, const Size& b, int64_t scale) {
  Size result = a;
  result.overflowed_ = a.overflowed_ || b.overflowed_;
  for (const auto& [monomial, coefficient] : b.terms_) {
    int64_t c;
    if (__builtin_mul_overflow(coefficient, scale, &c)) result.overflowed_ = true;
    result.Add(monomial, c);
  }
  return result;
}

Size operator*(const Size& a, const Size& b) {
  Size result;
  result.overflowed_ = a.overflowed_ || b.overflowed_;
  for (const auto& [m1, c1] : a.terms_) {
    for (const auto& [m2, c2] : b.terms_) {
      Size::Monomial m(m1.size() + m2.size());
      std::merge(m1.begin(), m1.end(), m2.begin(), m2.end(), m.begin());
      int64_t c;
      if (__builtin_mul_overflow(c1, c2, &c)) result.overflowed_ = true;
      result.Add(m, c);
    }
  }
  return result;
}

namespace {

// m without the atoms of `part`; nullopt unless it has them.
std::optional<Size::Monomial> Without(const Size::Monomial& m, const Size::Monomial& part) {
  if (!std::includes(m.begin(), m.end(), part.begin(), part.end())) return std::nullopt;
  Size::Monomial rest;
  std::set_difference(m.begin(), m.end(), part.begin(), part.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace

IndexExpr SizeSolver::New(absl::string_view hint, Kind kind) {
  atoms_.push_back({});
  atoms_.back().hint = std::string(hint);
  atoms_.back().kind = kind;
  return IndexExpr::Symbol(absl::StrCat(atoms_.size() - 1));
}

int SizeSolver::Intern(const Size& numerator, const Size& denominator) const {
  for (size_t i = 0; i < atoms_.size(); ++i) {
    if (atoms_[i].is_div && atoms_[i].numerator == numerator &&
        atoms_[i].denominator == denominator) {
      return static_cast<int>(i);
    }
  }
  Atom atom;
  atom.is_div = true;
  atom.numerator = numerator;
  atom.denominator = denominator;
  atoms_.push_back(std::move(atom));
  return static_cast<int>(atoms_.size()) - 1;
}

// floor(a / b), taking out multiples of b: (b*q + r) div b = q + r div b.
Size SizeSolver::Div(const Size& a, const Size& b) const {
  Size quotient, rest = a;
  if (b.terms().empty()) {
    quotient.overflowed_ = true;
    return quotient;
  }
  if (b.terms().size() == 1) {
    const auto& [monomial, coefficient] = *b.terms().begin();
    rest = Size();
    rest.overflowed_ = a.overflowed_;
    for (const auto& [m, c] : a.terms()) {
      auto left = Without(m, monomial);
      if (left && c % coefficient == 0) {
        quotient.Add(*left, c / coefficient);
      } else {
        rest.Add(m, c);
      }
    }
  } else {
    // Divides by the leading term of b as long as it divides exactly.
    const auto& [monomial, coefficient] = *b.terms().rbegin();
    while (!rest.IsZero() && !rest.overflowed()) {
      const auto [m, c] = *rest.terms().rbegin();
      auto left = Without(m, monomial);
      if (!left || c % coefficient != 0) break;
      Size step;
      step.Add(*left, c / coefficient);
      quotient = quotient + step;
      rest = rest - step * b;
    }
    if (!rest.IsZero()) {
      quotient = Size();
      rest = a;
    }
  }
  if (rest.IsZero()) return quotient;
  auto x = rest.AsConst(), y = b.AsConst();
  if (x && y && *y > 0) {
    return quotient + Size(*x / *y - (*x % *y < 0 ? 1 : 0));
  }
  return quotient + Size::Of(Intern(rest, b));
}

Size SizeSolver::Substitute(const Size& size) const {
  Size result;
  result.overflowed_ = size.overflowed_;
  for (const auto& [monomial, coefficient] : size.terms()) {
    Size product(coefficient);
    for (int a : monomial) {
      const Atom atom = atoms_[a];
      if (atom.is_div) {
        product = product * Div(Substitute(atom.numerator), Substitute(atom.denominator));
      } else {
        product = product * (atom.value ? Substitute(*atom.value) : Size::Of(a));
      }
    }
    result = result + product;
  }
  return result;
}

std::optional<Size> SizeSolver::Value(const IndexExpr& e) const {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      return Size(e.value());
    case IndexExpr::Kind::kSymbol:
      return Substitute(Size::Of(std::atoi(e.name().c_str())));
    case IndexExpr::Kind::kAdd:
    case IndexExpr::Kind::kMul:
    case IndexExpr::Kind::kFloorDiv:
    case IndexExpr::Kind::kMod:
      break;
    default:
      return std::nullopt;
  }
  auto a = Value(e.lhs()), b = Value(e.rhs());
  if (!a || !b) return std::nullopt;
  if (e.kind() == IndexExpr::Kind::kAdd) return *a + *b;
  if (e.kind() == IndexExpr::Kind::kMul) return *a * *b;
  if (b->IsZero() || b->overflowed()) return std::nullopt;
  const Size quotient = Div(*a, *b);
  return e.kind() == IndexExpr::Kind::kFloorDiv ? quotient : *a - *b * quotient;
}

bool SizeSolver::Same(const IndexExpr& a, const IndexExpr& b) const {
  auto x = Value(a), y = Value(b);
  return x && y && *x == *y;
}

IndexExpr SizeSolver::ToIndex(const Size& size) const {
  IndexExpr sum = 0;
  for (const auto& [monomial, coefficient] : size.terms()) {
    IndexExpr product = coefficient;
    for (int a : monomial) {
      const Atom& atom = atoms_[a];
      product =
          product * (atom.is_div ? FloorDiv(ToIndex(atom.numerator), ToIndex(atom.denominator))
                                 : IndexExpr::Symbol(absl::StrCat(a)));
    }
    sum = sum + product;
  }
  return sum;
}

absl::StatusOr<IndexExpr> SizeSolver::Normalized(const IndexExpr& e) const {
  auto value = Value(e);
  if (!value) return e;
  if (value->overflowed())
    return absl::InvalidArgumentError("its sizes leave 64 bits, or are divided by 0");
  return ToIndex(*value);
}

bool SizeSolver::Mentions(const Size& size, int symbol) const {
  for (const auto& [monomial, coefficient] : size.terms()) {
    for (int a : monomial) {
      if (a == symbol) return true;
      if (atoms_[a].is_div &&
          (Mentions(atoms_[a].numerator, symbol) || Mentions(atoms_[a].denominator, symbol))) {
        return true;
      }
    }
  }
  return false;
}

Size SizeSolver::Reduced(Size size) const {
  if (size.terms().empty() || size.overflowed()) return size;
  Size::Monomial common = size.terms().begin()->first;
  uint64_t content = 0;
  for (const auto& [monomial, coefficient] : size.terms()) {
    Size::Monomial both;
    std::set_intersection(common.begin(), common.end(), monomial.begin(), monomial.end(),
                          std::back_inserter(both));
    common = both;
    if (coefficient == INT64_MIN) return size;
    content = std::gcd(content, static_cast<uint64_t>(std::abs(coefficient)));
  }
  auto may_be_0 = [&](int a) { return atoms_[a].is_div || atoms_[a].kind != Kind::kSize; };
  common.erase(std::remove_if(common.begin(), common.end(), may_be_0), common.end());
  Size result;
  for (const auto& [monomial, coefficient] : size.terms()) {
    result.Add(*Without(monomial, common), coefficient / static_cast<int64_t>(content));
  }
  return result;
}

// Which symbol is solved for: dependent ones first, then sizes, then attributes; younger ones
// first.
int SizeSolver::Rank(int symbol) const {
  const Kind kind = atoms_[symbol].kind;
  return (kind == Kind::kDependent ? 2 : kind == Kind::kSize ? 1 : 0) * (1 << 20) + symbol;
}

bool SizeSolver::SolveOne(const Size& zero) {
  int best = -1;
  Size value;
  for (const auto& [monomial, coefficient] : zero.terms()) {
    if (monomial.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
    const int symbol = monomial[0];
    if (atoms_[symbol].is_div || (best >= 0 && Rank(symbol) < Rank(best))) continue;
    // symbol = rest.
    Size rest = coefficient == 1 ? Size::Of(symbol) - zero : zero + Size::Of(symbol);
    if (Mentions(rest, symbol)) continue;
    bool usable = true;
    for (const auto& [m, c] : rest.terms()) {
      usable &= c > 0;
      for (int a : m) {
        usable &= atoms_[a].kind != Kind::kDependent || atoms_[symbol].kind == Kind::kDependent;
      }
    }
    // A size is at least 1, an attribute at least 0.
    if (rest.IsZero() && atoms_[symbol].kind == Kind::kSize) usable = false;
    if (!usable) continue;
    best = symbol;
    value = rest;
  }
  if (best < 0) return false;
  atoms_[best].value = value;
  return true;
}

bool SizeSolver::AlwaysPositive(const Size& size) const {
  // A size is at least 1, an attribute at least 0.
  int64_t least = 0;
  for (const auto& [monomial, coefficient] : size.terms()) {
    if (coefficient < 0 && !monomial.empty()) return false;
    bool counts = true;
    for (int a : monomial) {
      if (atoms_[a].is_div) return false;
      counts &= atoms_[a].kind == Kind::kSize;
    }
    if (counts && __builtin_add_overflow(least, coefficient, &least)) return false;
  }
  return least > 0;
}

absl::Status SizeSolver::SolveAll() {
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<Equation> equations = std::move(open_);
    open_.clear();
    for (Equation& equation : equations) {
      const Size zero = Reduced(Substitute(equation.zero));
      if (zero.overflowed())
        return absl::InvalidArgumentError("its sizes leave 64 bits, or are divided by 0");
      if (zero.IsZero()) continue;
      // Impossible: linear in one unknown with a solution that is not an integer, or a nonzero
      // constant.
      bool impossible = zero.AsConst().has_value();
      for (const auto& [monomial, coefficient] : zero.terms()) {
        impossible |= zero.terms().size() <= 2 && zero.terms().count({}) > 0 &&
                      monomial.size() == 1 && coefficient != 1 && coefficient != -1 &&
                      !atoms_[monomial[0]].is_div;
      }
      if (impossible || AlwaysPositive(zero) || AlwaysPositive(Size() - zero)) {
        const auto [left, right] = Sides(zero);
        return absl::InvalidArgumentError(
            absl::StrCat("no sizes fit: ", Text(left), " would have to be ", Text(right)));
      }
      if (SolveOne(zero)) {
        changed = true;
      } else {
        open_.push_back({zero, equation.stated});
      }
    }
  }
  return absl::OkStatus();
}

absl::Status SizeSolver::Equate(const IndexExpr& a, const IndexExpr& b, bool stated) {
  auto x = Value(a), y = Value(b);
  if (!x || !y) return absl::OkStatus();
  open_.push_back({*x - *y, stated});
  return SolveAll();
}

absl::Status SizeSolver::Assume(const Guard& guard) {
  if (guard.kind() == Guard::Kind::kEq) return Equate(guard.lhs(), guard.rhs());
  if (guard.kind() != Guard::Kind::kAnd) return absl::OkStatus();
  absl::Status status = Assume(guard.left());
  return status.ok() ? Assume(guard.right()) : status;
}

void SizeSolver::SetFallback(const IndexExpr& symbol, const IndexExpr& value) {
  atoms_[std::atoi(symbol.name().c_str())].fallback = value;
}

void SizeSolver::Close() {
  for (size_t i = 0; i < atoms_.size(); ++i) {
    const Atom atom = atoms_[i];
    if (atom.is_div || atom.value || !atom.fallback) continue;
    auto value = Value(*atom.fallback);
    if (value && !Mentions(*value, static_cast<int>(i))) atoms_[i].value = *value;
  }
}

std::vector<Size> SizeSolver::Unsolved() const {
  std::vector<Size> zeros;
  for (const Equation& equation : open_) {
    if (equation.stated) zeros.push_back(equation.zero);
  }
  return zeros;
}

std::pair<Size, Size> SizeSolver::Sides(const Size& given) const {
  const Size size = Reduced(Substitute(given));
  std::pair<Size, Size> sides;
  for (const auto& [monomial, coefficient] : size.terms()) {
    (coefficient < 0 ? sides.first : sides.second)
        .Add(monomial, coefficient < 0 ? -coefficient : coefficient);
  }
  return sides;
}

std::string SizeSolver::TextOfMonomial(const Size::Monomial& monomial, int64_t coefficient) {
  std::vector<std::string> factors;
  if (coefficient != 1 || monomial.empty()) factors.push_back(absl::StrCat(coefficient));
  for (int a : monomial) {
    if (atoms_[a].is_div) {
      factors.push_back(absl::StrCat("((", Text(atoms_[a].numerator), ") div (",
                                     Text(atoms_[a].denominator), "))"));
      continue;
    }
    if (atoms_[a].name.empty()) {
      const std::string hint = atoms_[a].hint;
      const int n = names_[hint]++;
      atoms_[a].name = n == 0 ? hint : absl::StrCat(hint, n + 1);
    }
    factors.push_back(atoms_[a].name);
  }
  return absl::StrJoin(factors, " * ");
}

std::string SizeSolver::Text(const Size& given) {
  const Size size = Substitute(given);
  std::vector<std::string> plus, minus;
  // Constants last.
  for (int pass = 0; pass < 2; ++pass) {
    for (const auto& [monomial, coefficient] : size.terms()) {
      if (monomial.empty() != (pass == 1)) continue;
      (coefficient > 0 ? plus : minus)
          .push_back(TextOfMonomial(monomial, coefficient > 0 ? coefficient : -coefficient));
    }
  }
  std::string text = plus.empty() ? "0" : absl::StrJoin(plus, " + ");
  for (const std::string& term : minus) absl::StrAppend(&text, " - ", term);
  return text;
}

std::string SizeSolver::Text(const IndexExpr& e) {
  auto value = Value(e);
  return value ? Text(*value) : "?";
}

}  // namespace lemma::taso
