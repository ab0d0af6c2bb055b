#include "verifier/error_bound/upper_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace lemma::prover {
namespace {

double Up(double x) { return std::nextafter(x, std::numeric_limits<double>::infinity()); }

double SumUp(double a, double b) {
  const double sum = a + b, rest = sum - a;
  const bool exact = (a - (sum - rest)) + (b - rest) == 0;
  return exact ? sum : Up(sum);
}

double ProductUp(double a, double b) {
  const double product = a * b;
  // The rest of a very small product may be rounded to 0.
  return std::fma(a, b, -product) == 0 && product >= 0x1p-900 ? product : Up(product);
}

// The shortest decimal that reads as `x`, so that a bound that was rounded up shows it.
std::string Decimal(double x) {
  std::string text;
  for (int digits = 6; digits <= 17; ++digits) {
    text = absl::StrFormat("%.*g", digits, x);
    double read = 0;
    if (absl::SimpleAtod(text, &read) && read == x) break;
  }
  return text;
}

// Whether `larger` is `smaller` times sizes, so that its value is at least as large.
bool IsMultiple(const Powers& larger, const Powers& smaller) {
  Powers quotient = larger;
  for (const auto& [name, exponent] : smaller) {
    const int left = quotient[name] - exponent;
    left == 0 ? static_cast<void>(quotient.erase(name)) : static_cast<void>(quotient[name] = left);
  }
  for (const auto& [name, exponent] : quotient) {
    if (exponent < 0 || !absl::StartsWith(name, "n:")) return false;
  }
  return true;
}

}  // namespace

UpperBound UpperBound::Number(double value) {
  UpperBound bound;
  // Not written with `<`, so that NaN is no bound.
  if (!(value >= 0)) value = std::numeric_limits<double>::infinity();
  if (value > 0) bound.terms[{}] = value;
  return bound;
}

UpperBound UpperBound::DividedBy(int64_t number) const {
  if (number < 1) return Number(std::numeric_limits<double>::infinity());
  // A divisor that is rounded down gives a quotient that is not too small.
  const bool is_exact = number <= (int64_t{1} << 53);
  const auto divisor =
      is_exact ? static_cast<double>(number) : std::nextafter(static_cast<double>(number), 0.0);
  UpperBound bound = *this;
  for (auto& [powers, coefficient] : bound.terms) {
    const double quotient = coefficient / divisor;
    coefficient = std::fma(quotient, divisor, -coefficient) == 0 ? quotient : Up(quotient);
  }
  return bound;
}

UpperBound UpperBound::Of(const std::string& factor, int exponent) {
  UpperBound bound;
  bound.terms[{{factor, exponent}}] = 1;
  return bound;
}

UpperBound operator+(const UpperBound& a, const UpperBound& b) {
  UpperBound sum = a;
  for (const auto& [powers, coefficient] : b.terms) {
    double& total = sum.terms[powers];
    total = SumUp(total, coefficient);
  }
  return sum;
}

UpperBound operator*(const UpperBound& a, const UpperBound& b) {
  UpperBound product;
  for (const auto& [p, x] : a.terms) {
    for (const auto& [q, y] : b.terms) {
      Powers powers = p;
      for (const auto& [name, exponent] : q) {
        if ((powers[name] += exponent) == 0) powers.erase(name);
      }
      double& total = product.terms[powers];
      total = SumUp(total, ProductUp(x, y));
    }
  }
  return product;
}

bool AtMost(const UpperBound& bound, const UpperBound& limit) {
  // What the limit has left after equal products, then after smaller ones.
  std::map<Powers, double> left = limit.terms, rest;
  const auto take = [](double* available, double* needed) {
    const double used = std::min(*available, *needed);
    *needed = SumUp(*needed, -used);
    *available = -SumUp(-*available, used);  // rounded down
  };
  for (const auto& [powers, coefficient] : bound.terms) {
    if (!std::isfinite(coefficient)) return false;
    double needed = coefficient;
    if (auto it = left.find(powers); it != left.end()) take(&it->second, &needed);
    if (needed > 0) rest[powers] = needed;
  }
  for (auto& [powers, needed] : rest) {
    for (auto& [larger, available] : left) {
      if (available > 0 && IsMultiple(larger, powers)) take(&available, &needed);
    }
    if (needed > 0) return false;
  }
  return true;
}

UpperBound Larger(const UpperBound& a, const UpperBound& b) {
  if (AtMost(a, b)) return b;
  return AtMost(b, a) ? a : a + b;
}

std::string UpperBound::ToString() const {
  if (terms.empty()) return "0";
  std::string text;
  for (const auto& [powers, coefficient] : terms) {
    std::string product;
    if (coefficient != 1 || powers.empty()) product = Decimal(coefficient);
    for (const auto& [name, exponent] : powers) {
      const absl::string_view plain = absl::StripPrefix(name, "n:");
      for (int i = 0; i < std::abs(exponent); ++i) {
        if (exponent > 0) {
          absl::StrAppend(&product, product.empty() ? "" : "*", plain);
        } else {
          absl::StrAppend(&product, product.empty() ? "1/" : "/", plain);
        }
      }
    }
    absl::StrAppend(&text, text.empty() ? "" : " + ", product);
  }
  return text;
}

}  // namespace lemma::prover
