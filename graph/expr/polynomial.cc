#include "graph/expr/polynomial.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/work.h"

namespace lemma {
namespace {

bool Before(const Monomial& a, const Monomial& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

int64_t FloorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

}  // namespace

Poly::Poly(int64_t constant) {
  if (constant != 0) terms_.push_back({{}, constant});
  Settle(constant == INT64_MIN);
}

Poly Poly::Of(Leaf leaf) { return Of(Monomial{leaf}, 1); }

Poly Poly::Of(Monomial monomial, int64_t coefficient) {
  Poly p;
  if (coefficient != 0) p.terms_.push_back({std::move(monomial), coefficient});
  p.Settle(coefficient == INT64_MIN);
  return p;
}

std::optional<int64_t> Poly::AsConst() const {
  if (overflowed_) return std::nullopt;
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_[0].first.empty()) return terms_[0].second;
  return std::nullopt;
}

int64_t Poly::ConstantTerm() const {
  return !terms_.empty() && terms_[0].first.empty() ? terms_[0].second : 0;
}

int64_t Poly::CoefficientOf(const Monomial& monomial) const {
  for (const auto& [m, c] : terms_) {
    if (m == monomial) return c;
  }
  return 0;
}

int Poly::Degree() const {
  return terms_.empty() ? 0 : static_cast<int>(terms_.back().first.size());
}

void Poly::Add(const Monomial& monomial, int64_t coefficient) {
  auto at =
      std::lower_bound(terms_.begin(), terms_.end(), monomial,
                       [](const auto& term, const Monomial& m) { return Before(term.first, m); });
  if (at == terms_.end() || at->first != monomial) {
    if (coefficient != 0) terms_.insert(at, {monomial, coefficient});
    return;
  }
  if (__builtin_add_overflow(at->second, coefficient, &at->second)) overflowed_ = true;
  // INT64_MIN has no opposite and cannot be divided by -1.
  if (at->second == INT64_MIN) overflowed_ = true;
  if (at->second == 0) terms_.erase(at);
}

void Poly::Settle(bool overflowed) {
  overflowed_ = overflowed_ || overflowed;
  if (overflowed_) terms_.clear();
}

Poly Poly::Sum(const Poly& a, const Poly& b, int64_t scale) {
  SpendWork(static_cast<int64_t>(1 + a.terms_.size() + b.terms_.size()));
  Poly result = a;
  result.overflowed_ = a.overflowed_ || b.overflowed_;
  for (const auto& [m, c] : b.terms_) {
    int64_t scaled = 0;
    if (__builtin_mul_overflow(c, scale, &scaled)) result.overflowed_ = true;
    result.Add(m, scaled);
  }
  result.Settle(false);
  return result;
}

Poly operator*(const Poly& a, const Poly& b) {
  SpendWork(static_cast<int64_t>(1 + a.terms_.size() * b.terms_.size()));
  Poly result;
  result.overflowed_ = a.overflowed_ || b.overflowed_;
  for (const auto& [ma, ca] : a.terms_) {
    for (const auto& [mb, cb] : b.terms_) {
      int64_t c = 0;
      if (__builtin_mul_overflow(ca, cb, &c) || c == INT64_MIN) result.overflowed_ = true;
      result.Add(Times(ma, mb), c);
    }
  }
  result.Settle(false);
  return result;
}

std::optional<Monomial> Without(const Monomial& m, Leaf leaf) {
  auto at = std::find(m.begin(), m.end(), leaf);
  if (at == m.end()) return std::nullopt;
  Monomial rest = m;
  rest.erase(rest.begin() + (at - m.begin()));
  return rest;
}

std::optional<Monomial> Quotient(const Monomial& a, const Monomial& b) {
  if (!std::includes(a.begin(), a.end(), b.begin(), b.end())) return std::nullopt;
  Monomial rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return rest;
}

Monomial Times(const Monomial& a, const Monomial& b) {
  Monomial product;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(product));
  return product;
}

std::optional<Poly> ExactQuotient(const Poly& a, const Poly& b) {
  if (b.IsZero() || b.overflowed() || a.overflowed()) return std::nullopt;
  Poly rest = a, quotient;
  const auto& [lead, coefficient] = b.terms().back();
  while (!rest.IsZero()) {
    const auto& [m, c] = rest.terms().back();
    auto q = Quotient(m, lead);
    if (!q || c % coefficient != 0 || quotient.terms().size() > 64) return std::nullopt;
    Poly step = Poly::Of(*q, c / coefficient);
    quotient = quotient + step;
    rest = rest - step * b;
    if (rest.overflowed()) return std::nullopt;
  }
  return quotient;
}

int64_t ContentOf(const Poly& p) {
  int64_t g = 0;
  for (const auto& [m, c] : p.terms()) g = std::gcd(g, c);
  return g;
}

Monomial CommonMonomial(const Poly& p) {
  Monomial common = p.terms().front().first;
  for (const auto& [m, c] : p.terms()) {
    Monomial both;
    std::set_intersection(common.begin(), common.end(), m.begin(), m.end(),
                          std::back_inserter(both));
    common = std::move(both);
  }
  return common;
}

Leaf Leaves::Intern(LeafInfo info) {
  Leaf leaf = static_cast<Leaf>(infos_.size());
  if (info.kind <= LeafInfo::Kind::kVar) info.deps = {leaf};
  infos_.push_back(std::move(info));
  return leaf;
}

Leaf Leaves::Symbol(const std::string& name) {
  auto [it, added] = symbols_.emplace(name, 0);
  if (added) {
    LeafInfo info;
    info.name = name;
    it->second = Intern(std::move(info));
  }
  return it->second;
}

Leaf Leaves::NewSymbol(const std::string& hint) {
  LeafInfo info;
  info.name = absl::StrCat(hint, "'", infos_.size());
  return Intern(std::move(info));
}

Leaf Leaves::NewVar(const std::string& hint) {
  LeafInfo info;
  info.kind = LeafInfo::Kind::kVar;
  info.name = absl::StrCat("%", hint, infos_.size());  // no symbol has such a name
  return Intern(std::move(info));
}

Poly Leaves::Div(const Poly& a, const Poly& b) {
  if (a.overflowed() || b.overflowed()) return a + b;
  auto bc = b.AsConst(), ac = a.AsConst();
  if (bc == 1 || a.IsZero()) return a;
  if (ac && bc && *bc > 0) return FloorDivide(*ac, *bc);
  if (b.IsZero() || (bc && *bc <= 0)) return Poly::Of(NewSymbol("undefined"));
  // div(q*b + r, b) = q + div(r, b).
  Poly quotient, rest;
  if (auto exact = ExactQuotient(a, b)) return *exact;
  if (b.terms().size() == 1) {
    const auto& [lead, coefficient] = b.terms()[0];
    for (const auto& [m, c] : a.terms()) {
      auto q = Quotient(m, lead);
      const int64_t whole = q ? FloorDivide(c, coefficient) : 0;
      if (q) quotient = quotient + Poly::Of(*q, whole);
      rest = rest + Poly::Of(m, c - whole * coefficient);
    }
    if (rest.IsZero()) return quotient;
    if (auto rc = rest.AsConst(); rc && bc) return quotient + FloorDivide(*rc, *bc);
  } else {
    rest = a;
  }
  // div(c*x, c*y) = div(x, y).
  Poly den = b;
  Monomial common;
  {
    Monomial in_rest = CommonMonomial(rest), in_den = CommonMonomial(den);
    std::set_intersection(in_rest.begin(), in_rest.end(), in_den.begin(), in_den.end(),
                          std::back_inserter(common));
  }
  const int64_t content = std::gcd(ContentOf(rest), ContentOf(den));
  if (content > 1 || !common.empty()) {
    const Poly factor = Poly::Of(common, content);
    rest = *ExactQuotient(rest, factor);
    den = *ExactQuotient(den, factor);
    return quotient + Div(rest, den);
  }
  // div(div(x, y), z) = div(x, y*z).
  if (rest.terms().size() == 1 && rest.terms()[0].second == 1 &&
      rest.terms()[0].first.size() == 1) {
    const LeafInfo inner = Info(rest.terms()[0].first[0]);
    if (inner.kind == LeafInfo::Kind::kDiv) return quotient + Div(inner.a, inner.b * den);
  }
  auto [it, added] = pairs_.emplace(
      std::make_pair(static_cast<int>(LeafInfo::Kind::kDiv), std::make_pair(rest, den)), 0);
  if (added) {
    LeafInfo info{LeafInfo::Kind::kDiv, "", rest, den, nullptr, {}};
    std::vector<Leaf> of_rest = DepsOf(rest), of_den = DepsOf(den);
    std::set_union(of_rest.begin(), of_rest.end(), of_den.begin(), of_den.end(),
                   std::back_inserter(info.deps));
    it->second = Intern(std::move(info));
  }
  return quotient + Poly::Of(it->second);
}

Poly Leaves::Extreme(LeafInfo::Kind kind, const Poly& x, const Poly& y) {
  const bool is_min = kind == LeafInfo::Kind::kMin;
  if (x.overflowed() || y.overflowed()) return x + y;
  if (auto difference = (x - y).AsConst()) return (*difference <= 0) == is_min ? x : y;
  Poly a = x, b = y;
  if (b < a) std::swap(a, b);
  auto [it, added] =
      pairs_.emplace(std::make_pair(static_cast<int>(kind), std::make_pair(a, b)), 0);
  if (added) {
    LeafInfo info{kind, "", a, b, nullptr, {}};
    std::vector<Leaf> da = DepsOf(a), db = DepsOf(b);
    std::set_union(da.begin(), da.end(), db.begin(), db.end(), std::back_inserter(info.deps));
    it->second = Intern(std::move(info));
  }
  return Poly::Of(it->second);
}

Poly Leaves::Load(NormalFormPtr value, std::string text, std::vector<Leaf> deps) {
  auto [it, added] = loads_.emplace(text, 0);
  if (added) {
    LeafInfo info;
    info.kind = LeafInfo::Kind::kLoad;
    info.name = std::move(text);
    info.load = std::move(value);
    info.deps = std::move(deps);
    it->second = Intern(std::move(info));
  }
  return Poly::Of(it->second);
}

std::vector<Leaf> Leaves::DepsOf(const Poly& p) const {
  SpendWork(static_cast<int64_t>(1 + p.terms().size()));
  std::vector<Leaf> deps;
  for (const auto& [m, c] : p.terms()) {
    for (Leaf leaf : m) deps.insert(deps.end(), Info(leaf).deps.begin(), Info(leaf).deps.end());
  }
  std::sort(deps.begin(), deps.end());
  deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
  return deps;
}

bool Leaves::Mentions(const Poly& p, Leaf base) const {
  SpendWork(1);
  for (const auto& [m, c] : p.terms()) {
    for (Leaf leaf : m) {
      const auto& deps = Info(leaf).deps;
      if (std::binary_search(deps.begin(), deps.end(), base)) return true;
    }
  }
  return false;
}

bool Leaves::MentionsInside(const Poly& p, Leaf base) const {
  for (const auto& [m, c] : p.terms()) {
    for (Leaf leaf : m) {
      const auto& deps = Info(leaf).deps;
      if (leaf != base && std::binary_search(deps.begin(), deps.end(), base)) return true;
    }
  }
  return false;
}

Poly Leaves::Substitute(const Poly& p, const LeafMap& map) {
  Poly result;
  for (const auto& [m, c] : p.terms()) {
    Poly product = c;
    for (Leaf leaf : m) {
      const LeafInfo info = Info(leaf);
      const bool touched =
          std::any_of(info.deps.begin(), info.deps.end(), [&](Leaf d) { return map.count(d) > 0; });
      if (!touched) {
        product = product * Poly::Of(leaf);
        continue;
      }
      switch (info.kind) {
        case LeafInfo::Kind::kSymbol:
        case LeafInfo::Kind::kVar:
          product = product * map.at(leaf);
          break;
        case LeafInfo::Kind::kDiv:
          product = product * Div(Substitute(info.a, map), Substitute(info.b, map));
          break;
        case LeafInfo::Kind::kMin:
        case LeafInfo::Kind::kMax:
          product = product * Extreme(info.kind, Substitute(info.a, map), Substitute(info.b, map));
          break;
        case LeafInfo::Kind::kLoad:
          product = product * substitute_load(info, map);
          break;
      }
    }
    result = result + product;
  }
  // Keeps the overflow of p itself.
  return p.overflowed() ? result + p : result;
}

std::string Leaves::ToString(Leaf leaf) const {
  const LeafInfo& info = Info(leaf);
  switch (info.kind) {
    case LeafInfo::Kind::kDiv:
      return absl::StrCat("div(", ToString(info.a), ", ", ToString(info.b), ")");
    case LeafInfo::Kind::kMin:
      return absl::StrCat("min(", ToString(info.a), ", ", ToString(info.b), ")");
    case LeafInfo::Kind::kMax:
      return absl::StrCat("max(", ToString(info.a), ", ", ToString(info.b), ")");
    case LeafInfo::Kind::kLoad:
      return absl::StrCat("[", info.name, "]");
    default:
      return info.name;
  }
}

std::string Leaves::ToString(const Poly& p) const {
  if (p.overflowed()) return "overflow";
  if (p.terms().empty()) return "0";
  std::string out;
  for (auto it = p.terms().rbegin(); it != p.terms().rend(); ++it) {
    const auto& [m, c] = *it;
    if (!out.empty())
      out += c < 0 ? " - " : " + ";
    else if (c < 0)
      out += "-";
    const uint64_t magnitude = c < 0 ? uint64_t{0} - static_cast<uint64_t>(c) : c;
    std::string factors;
    if (magnitude != 1 || m.empty()) factors = absl::StrCat(magnitude);
    for (Leaf leaf : m) absl::StrAppend(&factors, factors.empty() ? "" : "*", ToString(leaf));
    out += factors;
  }
  return out;
}

}  // namespace lemma
