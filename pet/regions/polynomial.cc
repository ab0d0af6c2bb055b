#include "pet/regions/polynomial.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/status_macros.h"
#include "pet/regions/add_summand.h"

namespace lemma::pet {
namespace {

using Wide = __int128;

Rational Reduced(Wide numerator, Wide denominator) {
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  Wide a = numerator < 0 ? -numerator : numerator, b = denominator;
  while (b != 0) std::tie(a, b) = std::make_pair(b, a % b);
  if (a == 0) return {0, 0};
  numerator /= a;
  denominator /= a;
  if (numerator > INT64_MAX || numerator < -INT64_MAX || denominator > INT64_MAX) return {0, 0};
  return {static_cast<int64_t>(numerator), static_cast<int64_t>(denominator)};
}

auto Tied(const TermRead& r) { return std::tie(r.leaf, r.outer, r.base, r.inner); }

}  // namespace

Rational Rational::OfDouble(double value) {
  if (!std::isfinite(value)) return {0, 0};
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);  // in [0.5, 1)
  auto numerator = static_cast<int64_t>(std::ldexp(mantissa, 53));
  exponent -= 53;
  while (numerator != 0 && numerator % 2 == 0) {
    numerator /= 2;
    ++exponent;
  }
  if (numerator == 0) return {0, 1};
  if (exponent > 62 || exponent < -62) return {0, 0};
  const Wide power = Wide{1} << std::abs(exponent);
  return exponent >= 0 ? Reduced(numerator * power, 1) : Reduced(numerator, power);
}

Rational operator+(const Rational& a, const Rational& b) {
  if (!a.valid() || !b.valid()) return {0, 0};
  if (a.numerator == 0) return b;
  if (b.numerator == 0) return a;
  const Wide x = Wide{a.numerator} * b.denominator, y = Wide{b.numerator} * a.denominator;
  if (x + y == 0) return {0, 1};
  return Reduced(x + y, Wide{a.denominator} * b.denominator);
}

Rational operator*(const Rational& a, const Rational& b) {
  if (!a.valid() || !b.valid()) return {0, 0};
  if (a.numerator == 0 || b.numerator == 0) return {0, 1};
  return Reduced(Wide{a.numerator} * b.numerator, Wide{a.denominator} * b.denominator);
}

Rational Rational::Inverse() const {
  if (!valid() || numerator == 0) return {0, 0};
  return Reduced(denominator, numerator);
}

bool operator<(const Summand& a, const Summand& b) {
  if (a.extents != b.extents) return a.extents < b.extents;
  return std::lexicographical_compare(
      a.reads.begin(), a.reads.end(), b.reads.begin(), b.reads.end(),
      [](const TermRead& x, const TermRead& y) { return Tied(x) < Tied(y); });
}

namespace {

void DropAxis(size_t axis, Summand* term) {
  term->extents.erase(term->extents.begin() + static_cast<std::ptrdiff_t>(axis));
  for (TermRead& read : term->reads) {
    read.inner.erase(read.inner.begin() + static_cast<std::ptrdiff_t>(axis));
  }
}

// Whether axis b continues axis a in every read.
bool RunsOn(const Summand& term, size_t a, size_t b) {
  return std::all_of(term.reads.begin(), term.reads.end(), [&](const TermRead& read) {
    return read.inner[b] == term.extents[a] * read.inner[a];
  });
}

void SortReads(Summand* term) {
  std::sort(term->reads.begin(), term->reads.end(),
            [](const TermRead& a, const TermRead& b) { return Tied(a) < Tied(b); });
}

// Turns every axis to the direction in which its first read increases.
void TurnAxes(Summand* term) {
  for (size_t axis = 0; axis < term->extents.size(); ++axis) {
    auto first = std::find_if(term->reads.begin(), term->reads.end(),
                              [&](const TermRead& read) { return read.inner[axis] != 0; });
    if (first == term->reads.end() || first->inner[axis] > 0) continue;
    for (TermRead& read : term->reads) {
      read.base += read.inner[axis] * (term->extents[axis] - 1);
      read.inner[axis] = -read.inner[axis];
    }
  }
}

void SortAxes(Summand* term) {
  std::vector<size_t> order(term->extents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto key = [&](size_t axis) {
    std::vector<int64_t> key;
    for (const TermRead& read : term->reads) key.push_back(read.inner[axis]);
    key.push_back(term->extents[axis]);
    return key;
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  Summand sorted = *term;
  for (size_t i = 0; i < order.size(); ++i) {
    sorted.extents[i] = term->extents[order[i]];
    for (size_t r = 0; r < term->reads.size(); ++r) {
      sorted.reads[r].inner[i] = term->reads[r].inner[order[i]];
    }
  }
  *term = std::move(sorted);
}

// Merges axes that continue one another; removes axes that no read uses.
void MergeAxes(Summand* term, Rational* coefficient) {
  for (size_t a = 0; a < term->extents.size();) {
    const bool used = std::any_of(term->reads.begin(), term->reads.end(),
                                  [&](const TermRead& read) { return read.inner[a] != 0; });
    if (!used || term->extents[a] == 1) {
      *coefficient = *coefficient * Rational::Of(term->extents[a]);
      DropAxis(a, term);
      continue;
    }
    ++a;
  }
  for (bool merged = true; merged;) {
    merged = false;
    for (size_t a = 0; a < term->extents.size() && !merged; ++a) {
      for (size_t b = 0; b < term->extents.size() && !merged; ++b) {
        if (a == b || !RunsOn(*term, a, b)) continue;
        term->extents[a] *= term->extents[b];
        DropAxis(b, term);
        merged = true;
      }
    }
  }
}

}  // namespace

void AddSummand(Summand term, Rational coefficient, Polynomial* sum) {
  SortReads(&term);
  TurnAxes(&term);
  MergeAxes(&term, &coefficient);
  SortReads(&term);
  SortAxes(&term);
  auto [it, added] = sum->try_emplace(std::move(term), coefficient);
  if (!added) it->second = it->second + coefficient;
  if (it->second.is_zero()) sum->erase(it);
}

namespace {

// A property that equal polynomials share, for each product of leaves: the sum of the coefficients
// and, for each leaf, the sum of coefficient * position, which is affine in the box's position.
struct Moment {
  Wide count = 0;
  std::vector<std::vector<Wide>> first;  // by read; twice the sum, then by dimension
};

// Whether the moments differ at every position of the box.
bool MomentsDiffer(const Polynomial& difference, const Box& box) {
  std::map<std::vector<int>, Moment> moments;
  for (const auto& [term, coefficient] : difference) {
    if (coefficient.denominator != 1) return false;
    std::vector<int> leaves;
    for (const TermRead& read : term.reads) leaves.push_back(read.leaf);
    Moment& moment = moments[leaves];
    Wide weight = coefficient.numerator;
    for (int64_t extent : term.extents) weight *= extent;
    moment.count += weight;
    moment.first.resize(leaves.size(), std::vector<Wide>(box.size() + 1, 0));
    // Reads of the same leaf are indistinguishable, so they share a moment.
    for (size_t r = 0; r < leaves.size(); ++r) {
      size_t at = r;
      while (at > 0 && leaves[at - 1] == leaves[r]) --at;
      const TermRead& read = term.reads[r];
      Wide middle = 2 * Wide{read.base};
      for (size_t a = 0; a < term.extents.size(); ++a) {
        middle += Wide{read.inner[a]} * (term.extents[a] - 1);
      }
      moment.first[at][0] += weight * middle;
      for (size_t d = 0; d < box.size(); ++d) {
        moment.first[at][d + 1] += 2 * weight * read.outer[d];
      }
    }
  }
  for (const auto& [leaves, moment] : moments) {
    if (moment.count != 0) return true;
    for (const std::vector<Wide>& sum : moment.first) {
      Wide low = sum[0], high = sum[0];
      for (size_t d = 0; d < box.size(); ++d) {
        (sum[d + 1] < 0 ? low : high) += sum[d + 1] * (box[d].count - 1);
      }
      if (low > 0 || high < 0) return true;
    }
  }
  return false;
}

// At one position: whether the sums of coefficient * position * position differ for two reads, in
// products that contain each leaf once. Over an axis of n steps of d, the mean of the squared
// position is the square of the mean plus d^2 (n^2 - 1) / 12.
bool SecondMomentsDiffer(const Polynomial& difference) {
  std::map<std::vector<int>, std::vector<Wide>> moments;
  for (const auto& [term, coefficient] : difference) {
    if (coefficient.denominator != 1) return false;
    const size_t n = term.reads.size();
    std::vector<int> leaves;
    Wide weight = coefficient.numerator;
    std::vector<Wide> middle;  // twice the mean
    for (int64_t extent : term.extents) weight *= extent;
    for (const TermRead& read : term.reads) {
      if (!leaves.empty() && leaves.back() == read.leaf) return false;
      leaves.push_back(read.leaf);
      middle.push_back(2 * Wide{read.base});
      for (size_t a = 0; a < term.extents.size(); ++a) {
        middle.back() += Wide{read.inner[a]} * (term.extents[a] - 1);
      }
    }
    std::vector<Wide>& moment = moments[leaves];
    moment.resize(n * n, 0);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = i; j < n; ++j) {
        Wide square = 3 * middle[i] * middle[j];
        for (size_t a = 0; a < term.extents.size(); ++a) {
          const Wide extent = term.extents[a];
          square += Wide{term.reads[i].inner[a]} * term.reads[j].inner[a] * (extent * extent - 1);
        }
        moment[i * n + j] += weight * square;
      }
    }
  }
  for (const auto& [leaves, moment] : moments) {
    if (std::any_of(moment.begin(), moment.end(), [](Wide m) { return m != 0; })) return true;
  }
  return false;
}

// Expands the shortest axis of every summand.
Polynomial Expanded(const Polynomial& terms) {
  Polynomial sum;
  for (const auto& [term, coefficient] : terms) {
    if (term.extents.empty()) {
      AddSummand(term, coefficient, &sum);
      continue;
    }
    const auto axis = static_cast<size_t>(
        std::min_element(term.extents.begin(), term.extents.end()) - term.extents.begin());
    Summand rest = term;
    DropAxis(axis, &rest);
    for (int64_t i = 0; i < term.extents[axis]; ++i) {
      Summand one = rest;
      for (size_t r = 0; r < one.reads.size(); ++r) {
        one.reads[r].base += i * term.reads[r].inner[axis];
      }
      AddSummand(std::move(one), coefficient, &sum);
    }
  }
  return sum;
}

}  // namespace

absl::StatusOr<PolynomialDifference> Compare(const Polynomial& a, const Polynomial& b,
                                             const Box& box, int64_t* left) {
  Polynomial difference = a;
  for (const auto& [term, coefficient] : b) AddSummand(term, -coefficient, &difference);
  while (true) {
    int64_t products = 0;
    bool axes = false;
    for (const auto& [term, coefficient] : difference) {
      if (!coefficient.valid()) return absl::ResourceExhaustedError("a coefficient is too large");
      axes = axes || !term.extents.empty();
      products +=
          term.extents.empty() ? 1 : *std::min_element(term.extents.begin(), term.extents.end());
    }
    if (difference.empty()) return PolynomialDifference::kNone;
    if (MomentsDiffer(difference, box)) return PolynomialDifference::kEverywhere;
    if (NumPositions(box) == 1 && SecondMomentsDiffer(difference))
      return PolynomialDifference::kEverywhere;
    if (!axes) break;
    if (products > *left) return absl::ResourceExhaustedError("too many products to write out");
    *left -= products;
    difference = Expanded(difference);
  }
  // All summands are single products and none cancel; at one position that is a difference.
  return NumPositions(box) == 1 ? PolynomialDifference::kEverywhere : PolynomialDifference::kOpen;
}

}  // namespace lemma::pet
