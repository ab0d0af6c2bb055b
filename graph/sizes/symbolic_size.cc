#include "graph/sizes/symbolic_size.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "graph/expr/polynomial.h"

namespace lemma {
namespace {

constexpr int64_t kFirst = int64_t{1} << 62;
constexpr int64_t kCount = int64_t{1} << 61;

// The name of a dimension's symbol is "$NAME$LEAST$MOST", so that an expression says all about its
// dimensions, and none is confused with a symbol of a rule.
constexpr char kMark = '$';

struct Dim {
  std::string name;
  SizeRange range;
};

std::optional<Dim> ParseDim(const std::string& symbol) {
  if (symbol.empty() || symbol[0] != kMark) return std::nullopt;
  const size_t last = symbol.rfind(kMark), middle = symbol.rfind(kMark, last - 1);
  Dim dim;
  if (last == middle || middle == 0 || middle == std::string::npos ||
      !absl::SimpleAtoi(symbol.substr(middle + 1, last - middle - 1), &dim.range.least) ||
      !absl::SimpleAtoi(symbol.substr(last + 1), &dim.range.most)) {
    return std::nullopt;
  }
  dim.name = symbol.substr(1, middle - 1);
  return dim;
}

// Symbolic sizes met so far. A size never changes its meaning, and none is forgotten.
struct Table {
  std::mutex mutex;
  absl::flat_hash_map<int64_t, IndexExpr> exprs;
};
Table& SizeTable() {
  static auto* const table = new Table;
  return *table;
}

// An interval whose ends beyond +-kFar mean that there is none.
struct Bounds {
  static constexpr __int128 kFar = static_cast<__int128>(1) << 63;
  __int128 lo = -kFar, hi = kFar;

  static __int128 Clamp(__int128 v) { return std::min(std::max(v, -kFar), kFar); }
};

Bounds operator+(const Bounds& a, const Bounds& b) {
  Bounds sum;
  if (a.lo > -Bounds::kFar && b.lo > -Bounds::kFar) sum.lo = Bounds::Clamp(a.lo + b.lo);
  if (a.hi < Bounds::kFar && b.hi < Bounds::kFar) sum.hi = Bounds::Clamp(a.hi + b.hi);
  return sum;
}

// A product of ends; one that does not exist decides the sign only.
__int128 EndProduct(__int128 a, __int128 b) {
  if (a == 0 || b == 0) return 0;
  const bool far =
      a >= Bounds::kFar || a <= -Bounds::kFar || b >= Bounds::kFar || b <= -Bounds::kFar;
  if (far) return (a > 0) == (b > 0) ? Bounds::kFar : -Bounds::kFar;
  constexpr __int128 kSafe = static_cast<__int128>(1) << 61;
  if (a > kSafe || a < -kSafe || b > kSafe || b < -kSafe) {
    return (a > 0) == (b > 0) ? Bounds::kFar : -Bounds::kFar;
  }
  return Bounds::Clamp(a * b);
}

Bounds operator*(const Bounds& a, const Bounds& b) {
  const __int128 ends[] = {EndProduct(a.lo, b.lo), EndProduct(a.lo, b.hi), EndProduct(a.hi, b.lo),
                           EndProduct(a.hi, b.hi)};
  return {*std::min_element(std::begin(ends), std::end(ends)),
          *std::max_element(std::begin(ends), std::end(ends))};
}

__int128 FloorQuotient(__int128 a, __int128 b) {
  if (a <= -Bounds::kFar || a >= Bounds::kFar) return a;
  const __int128 q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

// Normal forms of expressions over constants and symbolic dimensions.
class SizePolynomials {
 public:
  // nullopt if the expression contains something else.
  std::optional<Poly> Of(const IndexExpr& e) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
        return Poly(e.value());
      case IndexExpr::Kind::kSymbol:
        if (!ParseDim(e.name())) return std::nullopt;
        return Poly::Of(leaves_.Symbol(e.name()));
      case IndexExpr::Kind::kVar:
      case IndexExpr::Kind::kLoad:
        return std::nullopt;
      default:
        break;
    }
    auto a = Of(e.lhs()), b = Of(e.rhs());
    if (!a || !b) return std::nullopt;
    switch (e.kind()) {
      case IndexExpr::Kind::kAdd:
        return Checked(*a + *b);
      case IndexExpr::Kind::kMul:
        return Checked(*a * *b);
      case IndexExpr::Kind::kFloorDiv:
        if (BoundsOf(*b).lo < 1) return std::nullopt;
        return Checked(leaves_.Div(*a, *b));
      case IndexExpr::Kind::kMod:
        if (BoundsOf(*b).lo < 1) return std::nullopt;
        return Checked(leaves_.Mod(*a, *b));
      case IndexExpr::Kind::kMin:
        if (BoundsOf(*b - *a).lo >= 0) return a;
        if (BoundsOf(*a - *b).lo >= 0) return b;
        return Checked(leaves_.Min(*a, *b));
      case IndexExpr::Kind::kMax:
        if (BoundsOf(*b - *a).lo >= 0) return b;
        if (BoundsOf(*a - *b).lo >= 0) return a;
        return Checked(leaves_.Max(*a, *b));
      default:
        return std::nullopt;
    }
  }

  // The expression, written in the one way that does not depend on how leaves are numbered.
  IndexExpr ToExpr(const Poly& p) const {
    struct Written {
      std::vector<std::string> key;
      IndexExpr expr;
      int64_t coefficient;
    };
    std::vector<Written> terms;
    IndexExpr constant = 0;
    for (const auto& [monomial, coefficient] : p.terms()) {
      if (monomial.empty()) {
        constant = coefficient;
        continue;
      }
      std::vector<std::pair<std::string, IndexExpr>> factors;
      for (Leaf leaf : monomial) {
        IndexExpr e = LeafExpr(leaf);
        factors.emplace_back(e.ToString(), std::move(e));
      }
      std::sort(factors.begin(), factors.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      Written term{{}, 1, coefficient};
      for (auto& [text, e] : factors) {
        term.key.push_back(text);
        term.expr = term.expr.is_const() ? e : term.expr * e;
      }
      terms.push_back(std::move(term));
    }
    std::sort(terms.begin(), terms.end(), [](const Written& a, const Written& b) {
      return a.key.size() != b.key.size() ? a.key.size() > b.key.size() : a.key < b.key;
    });
    IndexExpr sum = 0;
    for (const Written& term : terms) sum = sum + IndexExpr(term.coefficient) * term.expr;
    return sum + constant;
  }

  // Bounds by the ranges of dimensions and by the laws of minima, maxima and quotients.
  Bounds BoundsOf(const Poly& p) const {
    int steps = 0, opposite_steps = 0;
    const __int128 lo = LeastOf(p, 0, &steps), least_opposite = LeastOf(-p, 0, &opposite_steps);
    return {lo, least_opposite <= -Bounds::kFar ? Bounds::kFar : -least_opposite};
  }

 private:
  static constexpr int kMaxReplacements = 6, kMaxSteps = 2000;

  // A lower bound. A term c*leaf of a leaf that is a minimum, a maximum or a quotient may be
  // replaced by something less: -min(a, b) by -a or -b, max(a, b) by a or b, and n*(a div n) by
  // a - n + 1, -n*(a div n) by -a. A common factor of the coefficients is taken out first, since
  // the bound of the rest is rounded up to an integer: 2*s - 2*(s div 2) is at least 2. After
  // kMaxSteps polynomials, nothing more is replaced: sums of many minima have too many of them.
  __int128 LeastOf(const Poly& p, int replaced, int* steps) const {
    if (const int64_t factor = CommonFactor(p); factor > 1) {
      Poly rest;
      int64_t constant = 0;
      for (const auto& [monomial, c] : p.terms()) {
        if (monomial.empty()) constant = c;
        if (!monomial.empty()) rest = rest + Poly::Of(monomial, c / factor);
      }
      const __int128 least = EndProduct(LeastOf(rest, replaced, steps), factor);
      return least <= -Bounds::kFar ? least : Bounds::Clamp(least + constant);
    }
    ++*steps;
    __int128 best = IntervalOf(p).lo;
    if (p.overflowed() || replaced >= kMaxReplacements) return best;
    for (const auto& [monomial, c] : p.terms()) {
      if (*steps > kMaxSteps) break;
      if (monomial.size() != 1) continue;
      const LeafInfo& info = leaves_.Info(monomial[0]);
      const Poly rest = p - Poly::Of(monomial, c);
      const auto n = info.b.AsConst();
      if ((info.kind == LeafInfo::Kind::kMin && c < 0) ||
          (info.kind == LeafInfo::Kind::kMax && c > 0)) {
        best = std::max({best, LeastOf(rest + Poly(c) * info.a, replaced + 1, steps),
                         LeastOf(rest + Poly(c) * info.b, replaced + 1, steps)});
      } else if (info.kind == LeafInfo::Kind::kDiv && n && *n > 0) {
        const Poly scaled = Poly(*n) * rest + Poly(c) * (c > 0 ? info.a - Poly(*n - 1) : info.a);
        const __int128 least = LeastOf(scaled, replaced + 1, steps);
        if (least > -Bounds::kFar) best = std::max(best, -FloorQuotient(-least, *n));
      }
    }
    return best;
  }

  // Of all coefficients but the constant; 0 if there is none or one is too large.
  static int64_t CommonFactor(const Poly& p) {
    int64_t factor = 0;
    if (p.overflowed()) return 0;
    for (const auto& [monomial, c] : p.terms()) {
      if (c == INT64_MIN) return 0;
      if (!monomial.empty()) factor = std::gcd(factor, c);
    }
    return factor;
  }

  Bounds IntervalOf(const Poly& p) const {
    if (p.overflowed()) return {};
    // In terms of s - least, whose least value is 0, terms that grow and terms that fall are told
    // apart better than in terms of s.
    std::map<std::vector<Leaf>, __int128> shifted;
    for (const auto& [monomial, coefficient] : p.terms()) {
      std::map<std::vector<Leaf>, __int128> product = {{{}, coefficient}};
      for (Leaf leaf : monomial) {
        const Bounds bounds = LeafBounds(leaf);
        const __int128 least = bounds.lo > -Bounds::kFar ? bounds.lo : 0;
        std::map<std::vector<Leaf>, __int128> next;
        for (const auto& [m, c] : product) {
          std::vector<Leaf> with = m;
          with.insert(std::upper_bound(with.begin(), with.end(), leaf), leaf);
          next[with] += c;
          next[m] += EndProduct(c, least);
        }
        for (const auto& [m, c] : next) {
          if (c >= Bounds::kFar || c <= -Bounds::kFar) return {};
        }
        product = std::move(next);
      }
      for (const auto& [m, c] : product) {
        __int128& sum = shifted[m];
        sum += c;
        if (sum >= Bounds::kFar || sum <= -Bounds::kFar) return {};
      }
    }
    Bounds total = {0, 0};
    for (const auto& [m, c] : shifted) {
      Bounds term = {c, c};
      for (Leaf leaf : m) {
        Bounds bounds = LeafBounds(leaf);
        if (bounds.lo > -Bounds::kFar) {
          if (bounds.hi < Bounds::kFar) bounds.hi -= bounds.lo;
          bounds.lo = 0;
        }
        term = term * bounds;
      }
      total = total + term;
    }
    return total;
  }

  static std::optional<Poly> Checked(Poly p) {
    if (p.overflowed()) return std::nullopt;
    return p;
  }

  IndexExpr LeafExpr(Leaf leaf) const {
    const LeafInfo& info = leaves_.Info(leaf);
    switch (info.kind) {
      case LeafInfo::Kind::kDiv:
        return FloorDiv(ToExpr(info.a), ToExpr(info.b));
      case LeafInfo::Kind::kMin:
      case LeafInfo::Kind::kMax: {
        IndexExpr a = ToExpr(info.a), b = ToExpr(info.b);
        if (b.ToString() < a.ToString()) std::swap(a, b);
        return info.kind == LeafInfo::Kind::kMin ? Min(a, b) : Max(a, b);
      }
      default:
        return IndexExpr::Symbol(info.name);
    }
  }

  Bounds LeafBounds(Leaf leaf) const {
    auto known = leaf_bounds_.find(leaf);
    if (known != leaf_bounds_.end()) return known->second;
    const Bounds bounds = ComputeLeafBounds(leaf);
    leaf_bounds_.emplace(leaf, bounds);
    return bounds;
  }

  Bounds ComputeLeafBounds(Leaf leaf) const {
    const LeafInfo& info = leaves_.Info(leaf);
    switch (info.kind) {
      case LeafInfo::Kind::kSymbol: {
        auto dim = ParseDim(info.name);
        if (!dim) return {};
        return {dim->range.least, dim->range.most};
      }
      case LeafInfo::Kind::kDiv: {
        const Bounds a = BoundsOf(info.a), b = BoundsOf(info.b);
        if (b.lo < 1) return {};
        const __int128 low_end = a.lo >= 0 ? b.hi : b.lo, high_end = a.hi >= 0 ? b.lo : b.hi;
        return {FloorQuotient(a.lo, low_end), FloorQuotient(a.hi, high_end)};
      }
      case LeafInfo::Kind::kMin: {
        const Bounds a = BoundsOf(info.a), b = BoundsOf(info.b);
        return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
      }
      case LeafInfo::Kind::kMax: {
        const Bounds a = BoundsOf(info.a), b = BoundsOf(info.b);
        return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
      }
      default:
        return {};
    }
  }

  Leaves leaves_;
  mutable absl::flat_hash_map<Leaf, Bounds> leaf_bounds_;  // nested quotients share leaves
};

// Whether a - b has these bounds; nullopt if the expressions are not sizes.
std::optional<Bounds> Difference(const IndexExpr& a, const IndexExpr& b) {
  SizePolynomials form;
  auto p = form.Of(a), q = form.Of(b);
  if (!p || !q) return std::nullopt;
  return form.BoundsOf(*p - *q);
}

class SizeParser {
 public:
  using Dim = std::function<std::optional<IndexExpr>(const std::string&)>;
  SizeParser(absl::string_view text, const Dim& dim) : text_(text), dim_(dim) {}

  std::optional<IndexExpr> Parse() {
    auto expr = Sum(0);
    Skip();
    return at_ == text_.size() ? expr : std::nullopt;
  }

 private:
  static constexpr int kMaxDepth = 50;

  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(absl::string_view token) {
    Skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  std::optional<IndexExpr> Sum(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    auto sum = Product(depth);
    while (sum) {
      const bool plus = Take("+");
      if (!plus && !Take("-")) break;
      auto next = Product(depth);
      if (!next) return std::nullopt;
      sum = plus ? *sum + *next : *sum - *next;
    }
    return sum;
  }

  std::optional<IndexExpr> Product(int depth) {
    auto product = Factor(depth);
    while (product) {
      const bool quotient = Take("//");
      if (!quotient && !Take("*")) break;
      auto next = Factor(depth);
      if (!next) return std::nullopt;
      product = quotient ? FloorDiv(*product, *next) : *product * *next;
    }
    return product;
  }

  std::optional<IndexExpr> Factor(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    if (Take("-")) {
      auto opposite = Factor(depth + 1);
      if (!opposite) return std::nullopt;
      return -*opposite;
    }
    if (Take("(")) {
      auto inside = Sum(depth + 1);
      return Take(")") ? inside : std::nullopt;
    }
    Skip();
    const size_t end = std::min(text_.find_first_of("+-*/(), ", at_), text_.size());
    const std::string word(text_.substr(at_, end - at_));
    if (word.empty()) return std::nullopt;
    at_ = end;
    if (int64_t number; absl::SimpleAtoi(word, &number)) return IndexExpr(number);
    if (!Take("(")) return dim_(word);
    auto a = Sum(depth + 1);
    if (!a || !Take(",")) return std::nullopt;
    auto b = Sum(depth + 1);
    if (!b || !Take(")")) return std::nullopt;
    if (word == "floor_div") return FloorDiv(*a, *b);
    if (word == "mod") return Mod(*a, *b);
    if (word == "min") return Min(*a, *b);
    if (word == "max") return Max(*a, *b);
    return std::nullopt;
  }

  const absl::string_view text_;
  const Dim& dim_;
  size_t at_ = 0;
};

void Append(const IndexExpr& e, std::string* text, int precedence) {
  auto both = [&](const char* between, int inside, int right) {
    if (inside < precedence) text->append("(");
    Append(e.lhs(), text, inside);
    text->append(between);
    Append(e.rhs(), text, right);
    if (inside < precedence) text->append(")");
  };
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      absl::StrAppend(text, e.value());
      return;
    case IndexExpr::Kind::kSymbol: {
      auto dim = ParseDim(e.name());
      text->append(dim ? dim->name : e.name());
      return;
    }
    case IndexExpr::Kind::kAdd:
      if (e.rhs().is_const() && e.rhs().value() < 0 && e.rhs().value() != INT64_MIN) {
        if (precedence > 1) text->append("(");
        Append(e.lhs(), text, 1);
        absl::StrAppend(text, " - ", -e.rhs().value());
        if (precedence > 1) text->append(")");
        return;
      }
      return both(" + ", 1, 1);
    case IndexExpr::Kind::kMul:
      return both("*", 2, 2);
    case IndexExpr::Kind::kFloorDiv:
    case IndexExpr::Kind::kMod:
    case IndexExpr::Kind::kMin:
    case IndexExpr::Kind::kMax: {
      static constexpr const char* kNames[] = {"floor_div", "mod", "min", "max"};
      absl::StrAppend(
          text, kNames[static_cast<int>(e.kind()) - static_cast<int>(IndexExpr::Kind::kFloorDiv)],
          "(");
      Append(e.lhs(), text, 0);
      text->append(", ");
      Append(e.rhs(), text, 0);
      text->append(")");
      return;
    }
    default:
      text->append(e.ToString());
  }
}

void CollectDims(const IndexExpr& e, std::map<std::string, SizeRange>* dims) {
  if (e.kind() == IndexExpr::Kind::kSymbol) {
    if (auto dim = ParseDim(e.name())) dims->emplace(dim->name, dim->range);
    return;
  }
  if (e.is_const() || e.kind() == IndexExpr::Kind::kVar || e.kind() == IndexExpr::Kind::kLoad) {
    return;
  }
  CollectDims(e.lhs(), dims);
  CollectDims(e.rhs(), dims);
}

}  // namespace

IndexExpr SymbolicDim(const std::string& name, SizeRange range) {
  return IndexExpr::Symbol(absl::StrCat(std::string(1, kMark), name, std::string(1, kMark),
                                        range.least, std::string(1, kMark), range.most));
}

bool MayBeTakenForSymbolic(int64_t value) { return value >= kFirst && value - kFirst < kCount; }

bool IsSymbolic(int64_t size) {
  if (!MayBeTakenForSymbolic(size)) return false;
  Table& table = SizeTable();
  std::lock_guard<std::mutex> lock(table.mutex);
  return table.exprs.contains(size);
}

bool IsSymbolic(absl::Span<const int64_t> sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return IsSymbolic(size); });
}

IndexExpr ToExpr(int64_t size) {
  if (!MayBeTakenForSymbolic(size)) return size;
  Table& table = SizeTable();
  std::lock_guard<std::mutex> lock(table.mutex);
  auto it = table.exprs.find(size);
  return it == table.exprs.end() ? IndexExpr(size) : it->second;
}

std::vector<IndexExpr> ToExprs(absl::Span<const int64_t> sizes) {
  std::vector<IndexExpr> exprs;
  exprs.reserve(sizes.size());
  for (int64_t size : sizes) exprs.push_back(ToExpr(size));
  return exprs;
}

std::optional<int64_t> ToSize(const IndexExpr& expr) {
  if (expr.is_const()) return expr.value();
  SizePolynomials form;
  auto p = form.Of(expr);
  if (!p) return std::nullopt;
  if (auto constant = p->AsConst()) return constant;
  IndexExpr canonical = form.ToExpr(*p);
  const std::string text = canonical.ToString();
  Table& table = SizeTable();
  std::lock_guard<std::mutex> lock(table.mutex);
  // Expressions whose hashes collide get the next number that is free.
  for (auto offset = static_cast<int64_t>(HashString(text) % static_cast<uint64_t>(kCount));;
       offset = (offset + 1) % kCount) {
    auto [it, added] = table.exprs.emplace(kFirst + offset, canonical);
    if (added || it->second.ToString() == text) return it->first;
  }
}

bool IsDimName(absl::string_view text) {
  return !text.empty() && text.find_first_of("+-*/(), ") == absl::string_view::npos &&
         !absl::ascii_isdigit(static_cast<unsigned char>(text[0]));
}

std::optional<IndexExpr> ParseSize(
    absl::string_view text,
    const std::function<std::optional<IndexExpr>(const std::string&)>& dim) {
  SizeParser parser(text, dim);
  return parser.Parse();
}

std::string SizeName(int64_t size) {
  std::string text;
  Append(ToExpr(size), &text, 0);
  return text;
}

void CollectDims(int64_t size, std::map<std::string, SizeRange>* dims) {
  if (IsSymbolic(size)) CollectDims(ToExpr(size), dims);
}

std::optional<bool> Decide(const Guard& guard) {
  switch (guard.kind()) {
    case Guard::Kind::kTrue:
      return true;
    case Guard::Kind::kFalse:
      return false;
    case Guard::Kind::kLe: {
      auto bounds = Difference(guard.rhs(), guard.lhs());
      if (!bounds) return std::nullopt;
      if (bounds->lo >= 0) return true;
      if (bounds->hi < 0) return false;
      return std::nullopt;
    }
    case Guard::Kind::kEq: {
      auto bounds = Difference(guard.rhs(), guard.lhs());
      if (!bounds) return std::nullopt;
      if (bounds->lo == 0 && bounds->hi == 0) return true;
      if (bounds->lo > 0 || bounds->hi < 0) return false;
      return std::nullopt;
    }
    case Guard::Kind::kAnd:
    case Guard::Kind::kOr: {
      const bool decisive = guard.kind() == Guard::Kind::kOr;
      auto a = Decide(guard.left()), b = Decide(guard.right());
      if (a == decisive || b == decisive) return decisive;
      if (a && b) return !decisive;
      return std::nullopt;
    }
    case Guard::Kind::kNot: {
      auto a = Decide(guard.left());
      if (!a) return std::nullopt;
      return !*a;
    }
  }
  return std::nullopt;
}

bool AreEqual(const IndexExpr& a, const IndexExpr& b) {
  return Identical(a, b) || (!(a.is_const() && b.is_const()) && Decide(Eq(a, b)) == true);
}

bool IsAtLeast(int64_t size, int64_t least) {
  if (!IsSymbolic(size)) return size >= least;
  return Decide(Le(IndexExpr(least), ToExpr(size))) == true;
}

int64_t ProductOf(absl::Span<const int64_t> sizes) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  int64_t number = 1;
  IndexExpr product = 1;
  for (int64_t size : sizes) {
    if (IsSymbolic(size)) {
      product = product * ToExpr(size);
    } else if (__builtin_mul_overflow(number, size, &number)) {
      return INT64_MAX;
    }
  }
  return product.is_const() ? number : ToSize(IndexExpr(number) * product).value_or(INT64_MAX);
}

std::optional<int64_t> QuotientOf(int64_t a, int64_t b) {
  if (!IsSymbolic(a) && !IsSymbolic(b)) {
    if (b == 0 || a % b != 0) return std::nullopt;
    return a / b;
  }
  if (!IsAtLeast(b, 1)) return std::nullopt;
  const IndexExpr quotient = FloorDiv(ToExpr(a), ToExpr(b));
  if (!AreEqual(quotient * ToExpr(b), ToExpr(a))) return std::nullopt;
  return ToSize(quotient);
}

bool MayBeEmpty(absl::Span<const int64_t> shape) {
  return !std::all_of(shape.begin(), shape.end(), [](int64_t size) { return IsAtLeast(size, 1); });
}

bool HasResultSize(absl::Span<const int64_t> sizes) {
  std::map<std::string, SizeRange> dims;
  for (int64_t size : sizes) CollectDims(size, &dims);
  return std::any_of(dims.begin(), dims.end(),
                     [](const auto& dim) { return IsResultSize(dim.second); });
}

// The expression with numbers in place of the dimensions that have values.
static IndexExpr Replaced(const IndexExpr& e, const DimValues& values) {
  if (e.kind() == IndexExpr::Kind::kSymbol) {
    const auto dim = ParseDim(e.name());
    const auto value = dim ? values.find(dim->name) : values.end();
    return value == values.end() ? e : IndexExpr(value->second);
  }
  if (e.is_const() || e.kind() == IndexExpr::Kind::kVar || e.kind() == IndexExpr::Kind::kLoad) {
    return e;
  }
  return Binary(e.kind(), Replaced(e.lhs(), values), Replaced(e.rhs(), values));
}

int64_t UsualSize(size_t axis, size_t rank) {
  if (axis == 0) return 1;
  return rank == 4 && axis >= 2 ? 224 : 128;
}

absl::StatusOr<int64_t> Evaluate(int64_t size, const DimValues& values) {
  if (!IsSymbolic(size)) return size;
  std::map<std::string, SizeRange> dims;
  CollectDims(size, &dims);
  bool stays = false;
  for (const auto& [name, range] : dims) {
    auto it = values.find(name);
    if (it == values.end() && IsResultSize(range)) {
      stays = true;
      continue;
    }
    if (it == values.end()) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", name, " has no value"));
    }
    if (it->second < range.least || it->second > range.most) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dimension ", name, " is ", it->second, ", its range is ", range.least, " to ",
          range.most == SizeRange::kNoLimit ? "any size" : absl::StrCat(range.most)));
    }
  }
  if (stays) {
    const auto partly = ToSize(Replaced(ToExpr(size), values));
    if (partly) return *partly;
    return absl::InvalidArgumentError(absl::StrCat("the size ", SizeName(size), " is too large"));
  }
  IndexEnv env;
  env.var = [](VarId) { return std::nullopt; };
  env.symbol = [&](const std::string& symbol) -> std::optional<int64_t> {
    auto dim = ParseDim(symbol);
    if (!dim) return std::nullopt;
    return values.at(dim->name);
  };
  auto value = EvaluateIndex(ToExpr(size), env);
  if (!value || MayBeTakenForSymbolic(*value)) {
    return absl::InvalidArgumentError(absl::StrCat("the size ", SizeName(size), " is too large"));
  }
  return *value;
}

}  // namespace lemma
