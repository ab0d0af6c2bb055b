// Computes exactly and symbolically, so that one computation covers all values of the inputs. A
// value is a polynomial with rational coefficients. Its variables are called atoms.
//
// An atom is one of these: an element of an input, a real parameter, an
// infinity, a constant that is not a small rational number, or a function or
// reduction of polynomials that no law rewrites. At Level::kBits, even the
// addition of two atoms is such a function. Polynomials are kept in a canonical
// form, so equal polynomials are identical. Values whose polynomials differ may
// still be equal by laws that the level (Level) does not include;
// ApproximatelyEqual searches for a point at which they differ. Functions are
// in algebra_fns.cc, laws in algebra_laws.cc, points in algebra_point.cc.
#ifndef LEMMA_VERIFIER_CHECKER_ALGEBRA_H_
#define LEMMA_VERIFIER_CHECKER_ALGEBRA_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/dtype.h"
#include "graph/expr/scalar_expr.h"

namespace lemma::checker {

// num / den in lowest terms, den > 0. If a result does not fit into 64 bits, Algebra::problem()
// says so.
struct Rational {
  int64_t num = 0, den = 1;
  friend bool operator==(Rational a, Rational b) { return a.num == b.num && a.den == b.den; }
  friend bool operator!=(Rational a, Rational b) { return !(a == b); }
};

using AtomId = int32_t;
using Monomial = std::vector<std::pair<AtomId, int>>;  // ascending atoms with powers; empty: 1
using Polynomial = std::map<Monomial, Rational>;       // coefficients other than 0; empty: 0
using Value = std::shared_ptr<const Polynomial>;
inline Value Share(Polynomial p) { return std::make_shared<const Polynomial>(std::move(p)); }

// The value of `fn` at a, b and c, in double. Ignores the arguments beyond the arity of `fn`.
// NaN for the functions that store a number in a type (LEMMA_STORED_FN in
// graph/expr/scalar_functions.inc): these do not occur in rules.
double ValueAt(ScalarFn fn, double a, double b = 0, double c = 0);

// The laws by which values are equal: one level for each float contract (docs/proofs.md).
enum class Level {
  kBits,  // bit_exact: only laws that keep every bit, such as 1 * a = a and maxima in any order
  kRing,  // reassociates: sums, products and maxima in any order
  kReal,  // real_only: also laws of exp, log and reciprocals, and of squares of maxima
};

// kParam: a real parameter. kConstant: a number that is not a small rational, or -0. kFold: a
// reduction to which no laws apply.
struct Atom {
  enum class Kind { kInfinity, kInput, kParam, kConstant, kFn, kReciprocal, kMax, kMin, kFold };
  Kind kind = Kind::kInput;
  std::string name;              // kParam: its name; kConstant: its number; kFold: the reduction
  int tensor = 0;                // kInput: the number of the input
  int64_t offset = 0;            // kInput: the row-major position of the element
  ScalarFn fn = ScalarFn::kAdd;  // kFn
  std::vector<Polynomial> args;  // operands of the function, reciprocal, extremum or reduction
  friend bool operator<(const Atom& a, const Atom& b);
};

// Known properties of an atom's value.
struct AtomFacts {
  bool truth = false;  // 0 or 1
  bool integer = false;
};

class Algebra {
 public:
  // The object adds one to *work for each term of a polynomial that it touches. `work` must outlive
  // the object.
  Algebra(Level level, int64_t* work);

  // Values: an element of an input (Atom::tensor, Atom::offset), a real parameter, a number. Calls
  // with the same arguments give equal values.
  Value Input(int tensor, int64_t offset, DType dtype);
  Value Param(const std::string& name);
  Value Constant(double value);
  Value Integer(int64_t value) { return Number({value, 1}); }

  // The function of these arguments, simplified by the laws of the level.
  Value Apply(ScalarFn fn, const std::vector<Value>& args);
  // The reduction of `values`, in this order.
  Value Reduce(ReduceKind kind, const std::vector<Value>& values);
  // 1 / x.
  Value Reciprocal(const Value& x);
  // Sum and Product add and multiply polynomials even at Level::kBits, where Apply does not.
  Value Sum(const Value& a, const Value& b, Rational factor = {1, 1});  // a + factor * b
  Value Product(const Value& a, const Value& b);

  Rational Ratio(int64_t num, int64_t den) { return Make(num, den); }  // den != 0
  // Whether x is a number; if so, sets *number to it.
  static bool IsNumber(const Value& x, Rational* number);
  static bool IsInfinite(const Polynomial& x);
  static bool Same(const Value& a, const Value& b) { return *a == *b; }
  // True if no point was found at which a and b differ by more than rounding in double explains.
  // This does not show that they are equal.
  bool ApproximatelyEqual(const Value& a, const Value& b);
  // The value of x in double at one of the points at which ApproximatelyEqual compares. `point`:
  // the number of the point, from 0.
  double Sample(const Value& x, int point);
  std::string ToString(const Value& x) const;

  // Counts one step of work that is not about terms.
  void Touch() { ++work_; }
  // Why the values are unusable, such as an overflow, a division by 0 or an infinity in arithmetic.
  // "" if they are fine.
  const std::string& problem() const { return problem_; }
  void Fail(const std::string& why) {
    if (problem_.empty()) problem_ = why;
  }

 private:
  Value Number(Rational r) const;
  Value OfAtom(Atom atom, AtomFacts facts = {});
  Value Fn(ScalarFn fn, std::vector<Value> args, AtomFacts facts = {});

  Rational Add(Rational a, Rational b);
  Rational Mul(Rational a, Rational b);
  Rational Div(Rational a, Rational b);
  Rational Make(__int128 num, __int128 den);
  static bool Less(Rational a, Rational b);

  void AddTo(Polynomial* sum, const Polynomial& x, Rational factor);
  Monomial Times(const Monomial& a, const Monomial& b);
  Value Max(std::vector<Value> values);
  bool Flatten(std::vector<Polynomial>* set);
  void DropBetween(std::vector<Polynomial>* set);
  Polynomial WithoutSquares(const Polynomial& x);
  Value Compare(ScalarFn fn, const Value& a, const Value& b);
  Value Round(ScalarFn fn, const Value& a);
  // For an odd or even f: f(0) if x is 0, or -f(-x) or f(-x) if that is the canonical form.
  std::optional<Value> Symmetric(ScalarFn fn, const Value& x);
  Value Power(const Value& base, const Value& exponent);
  Value Exp(const Value& x);
  Value Log(const Value& x);
  Value ApplyBits(ScalarFn fn, std::vector<Value> args);
  Value NegatedBits(const Value& x);
  // x in double, if x is a rational number or an Atom of kind kConstant; otherwise nullopt.
  std::optional<double> ConstantOf(const Polynomial& x) const;
  Value Extreme(Atom::Kind kind, const std::vector<Value>& values);

  // A polynomial t such that exp(t) is a common factor of the terms of x. Multiplying x by exp(s)
  // adds s to t.
  Polynomial CommonExponent(const Polynomial& x);
  const Polynomial* ExponentOf(const Monomial& m, size_t* at) const;
  bool IsPositive(const Polynomial& x) const;
  bool IsTruth(const Polynomial& x) const;
  bool IsInteger(const Polynomial& x) const;
  static std::vector<std::pair<Monomial, Rational>> LeastCoefficients(
      const std::vector<Polynomial>& set);
  // The positive rational number by which all coefficients must be divided to become coprime
  // integers; 1 if there are no coefficients.
  Rational Content(const std::vector<Polynomial>& set);

  // The value of x, or of an atom, in double at point `point_number` (as in Sample). `point`
  // caches the values of atoms at this point; missing values are added.
  double At(const Polynomial& x, int point_number, std::map<AtomId, double>* point);
  double AtomAt(AtomId id, int point_number, std::map<AtomId, double>* point);
  std::string ToString(const Polynomial& x) const;
  std::string ToString(AtomId atom) const;

  Level level_;
  int64_t& work_;
  std::map<Atom, AtomId> ids_;
  std::vector<Atom> atoms_;
  std::vector<AtomFacts> facts_;
  std::string problem_;
};

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_ALGEBRA_H_
