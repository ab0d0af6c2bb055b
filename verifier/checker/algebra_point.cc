// Evaluates values in double at random points. Used only to show that two values differ.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "verifier/checker/algebra.h"

namespace lemma::checker {
namespace {

constexpr int kPoints = 12;

}  // namespace

double ValueAt(ScalarFn fn, double a, double b, double c) {
  switch (fn) {
    case ScalarFn::kAdd:
      return a + b;
    case ScalarFn::kSub:
      return a - b;
    case ScalarFn::kMul:
      return a * b;
    case ScalarFn::kDiv:
      return a / b;
    case ScalarFn::kNeg:
      return -a;
    case ScalarFn::kMin:
      return std::min(a, b);
    case ScalarFn::kMax:
      return std::max(a, b);
    case ScalarFn::kAbs:
      return std::abs(a);
    case ScalarFn::kSign:
      return (a > 0) - (a < 0);
    case ScalarFn::kFloor:
      return std::floor(a);
    case ScalarFn::kCeil:
      return std::ceil(a);
    case ScalarFn::kRound:
      return std::nearbyint(a);
    case ScalarFn::kTrunc:
      return std::trunc(a);
    case ScalarFn::kMod:
      return a - b * std::floor(a / b);
    case ScalarFn::kFmod:
      return std::fmod(a, b);
    case ScalarFn::kExp:
      return std::exp(a);
    case ScalarFn::kLog:
      return std::log(a);
    case ScalarFn::kSqrt:
      return std::sqrt(a);
    case ScalarFn::kPow:
      return std::pow(a, b);
    case ScalarFn::kErf:
      return std::erf(a);
    case ScalarFn::kSin:
      return std::sin(a);
    case ScalarFn::kCos:
      return std::cos(a);
    case ScalarFn::kTan:
      return std::tan(a);
    case ScalarFn::kAsin:
      return std::asin(a);
    case ScalarFn::kAcos:
      return std::acos(a);
    case ScalarFn::kAtan:
      return std::atan(a);
    case ScalarFn::kSinh:
      return std::sinh(a);
    case ScalarFn::kCosh:
      return std::cosh(a);
    case ScalarFn::kTanh:
      return std::tanh(a);
    case ScalarFn::kAsinh:
      return std::asinh(a);
    case ScalarFn::kAcosh:
      return std::acosh(a);
    case ScalarFn::kAtanh:
      return std::atanh(a);
    case ScalarFn::kLess:
      return a < b;
    case ScalarFn::kEqual:
      return a == b;
    case ScalarFn::kAnd:
      return a != 0 && b != 0;
    case ScalarFn::kOr:
      return a != 0 || b != 0;
    case ScalarFn::kNot:
      return a == 0;
    case ScalarFn::kIsNan:
      return std::isnan(a);
    case ScalarFn::kIsInf:
      return std::isinf(a);
    case ScalarFn::kWhere:
      return a != 0 ? b : c;
    case ScalarFn::kRoundTf32: {
      // To the multiples of a unit, of which a normal f32 number has from 2^10 to 2^11.
      const float f = static_cast<float>(a);
      if (f == 0 || !std::isfinite(f)) return f;
      const double unit = std::ldexp(1.0, std::max(std::ilogb(f), -126) - 10);
      return static_cast<float>(std::round(f / unit) * unit);
    }
    case ScalarFn::kBitAnd:
      if (!(std::abs(a) < 0x1p63 && std::abs(b) < 0x1p63)) return NAN;  // says nothing
      return static_cast<double>(static_cast<int64_t>(a) & static_cast<int64_t>(b));
    default:
      return NAN;  // stored values occur in plans, not in rules
  }
}

double Algebra::AtomAt(AtomId id, int point_number, std::map<AtomId, double>* point) {
  if (auto it = point->find(id); it != point->end()) return it->second;
  const Atom& atom = atoms_[id];
  std::vector<double> args;
  for (const Polynomial& arg : atom.args) args.push_back(At(arg, point_number, point));
  double value = NAN;
  switch (atom.kind) {
    case Atom::Kind::kInfinity:
      value = INFINITY;
      break;
    case Atom::Kind::kInput:
    case Atom::Kind::kParam: {
      const uint64_t hash = Mix64(HashCombine(HashCombine(point_number, atom.tensor),
                                              HashCombine(atom.offset, HashString(atom.name))));
      const double unit = static_cast<double>(hash >> 11) * 0x1p-53;
      value = facts_[id].truth        ? static_cast<double>(hash % 2)
              : facts_[id].integer    ? static_cast<double>(hash % 5 + point_number % 2)
              : point_number % 3 == 0 ? 0.3 + 1.5 * unit
              : point_number % 3 == 1 ? 4 * unit - 2
                                      : -0.3 - 1.5 * unit;
      break;
    }
    case Atom::Kind::kConstant:
      value = std::strtod(atom.name.c_str(), nullptr);
      break;
    case Atom::Kind::kFn:
      args.resize(3);
      value = ValueAt(atom.fn, args[0], args[1], args[2]);
      break;
    case Atom::Kind::kReciprocal:
      value = 1 / args[0];
      break;
    case Atom::Kind::kMax:
      value = *std::max_element(args.begin(), args.end());
      break;
    case Atom::Kind::kMin:
      value = *std::min_element(args.begin(), args.end());
      break;
    case Atom::Kind::kFold:
      value = atom.name == Name(ReduceKind::kProd)
                  ? std::accumulate(args.begin(), args.end(), 1.0, std::multiplies<double>())
                  : std::accumulate(args.begin(), args.end(), 0.0);
      break;
  }
  return (*point)[id] = value;
}

double Algebra::At(const Polynomial& x, int point_number, std::map<AtomId, double>* point) {
  double sum = 0;
  for (const auto& [m, c] : x) {
    double product = static_cast<double>(c.num) / static_cast<double>(c.den);
    for (const auto& [atom, power] : m)
      product *= std::pow(AtomAt(atom, point_number, point), power);
    sum += product;
  }
  return sum;
}

double Algebra::Sample(const Value& x, int point) {
  std::map<AtomId, double> values;
  return At(*x, point, &values);
}

bool Algebra::ApproximatelyEqual(const Value& a, const Value& b) {
  if (Same(a, b)) return true;
  for (int point_number = 0; point_number < kPoints; ++point_number) {
    std::map<AtomId, double> point;
    const double x = At(*a, point_number, &point), y = At(*b, point_number, &point);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    if (std::abs(x - y) > 1e-6 * (1 + std::abs(x) + std::abs(y))) return false;
  }
  return true;
}

// ---- Text ----

std::string Algebra::ToString(const Value& x) const {
  std::string text = ToString(*x);
  if (text.size() > 400) text = text.substr(0, 400) + " ...";
  return text;
}

std::string Algebra::ToString(AtomId id) const {
  const Atom& atom = atoms_[id];
  std::string args;
  for (const Polynomial& arg : atom.args) {
    if (args.size() > 400) break;
    absl::StrAppend(&args, args.empty() ? "" : ", ", ToString(arg));
  }
  switch (atom.kind) {
    case Atom::Kind::kInfinity:
      return "inf";
    case Atom::Kind::kInput:
      return absl::StrCat("x", atom.tensor, "[", atom.offset, "]");
    case Atom::Kind::kParam:
    case Atom::Kind::kConstant:
      return atom.name;
    case Atom::Kind::kFn:
      return absl::StrCat(Info(atom.fn).name, "(", args, ")");
    case Atom::Kind::kReciprocal:
      return absl::StrCat("1/(", args, ")");
    case Atom::Kind::kMax:
      return absl::StrCat("max{", args, "}");
    case Atom::Kind::kMin:
      return absl::StrCat("min{", args, "}");
    case Atom::Kind::kFold:
      return absl::StrCat(atom.name, "(", args, ")");
  }
  return "?";
}

std::string Algebra::ToString(const Polynomial& x) const {
  std::string text;
  for (const auto& [m, c] : x) {
    if (text.size() > 400) break;
    absl::StrAppend(&text, text.empty() ? (c.num < 0 ? "-" : "") : c.num < 0 ? " - " : " + ");
    const int64_t magnitude = c.num < 0 ? -c.num : c.num;
    std::string factors;
    if (m.empty() || magnitude != 1 || c.den != 1) {
      factors = c.den == 1 ? absl::StrCat(magnitude) : absl::StrCat(magnitude, "/", c.den);
    }
    for (const auto& [atom, power] : m) {
      absl::StrAppend(&factors, factors.empty() ? "" : "*", ToString(atom));
      if (power != 1) absl::StrAppend(&factors, "^", power);
    }
    text += factors;
  }
  return text.empty() ? "0" : text;
}

}  // namespace lemma::checker
