// Solves equations among sizes, to find the most general types of a rule.
#ifndef LEMMA_REWRITE_TASO_SIZES_H_
#define LEMMA_REWRITE_TASO_SIZES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/expr/index_expr.h"

namespace lemma::taso {

// An integer polynomial over atoms. An atom is a symbol or the rounded-down quotient of two
// polynomials. A Size refers to an atom by its number in a SizeSolver.
class Size {
 public:
  Size(int64_t constant = 0);  // NOLINT: a constant reads as itself
  static Size Of(int atom);

  using Monomial = std::vector<int>;  // sorted, with repetition; empty for 1
  const std::map<Monomial, int64_t>& terms() const { return terms_; }
  std::optional<int64_t> AsConst() const;
  // Whether a coefficient exceeded 64 bits or a divisor was 0, here or in an operand. Such a size
  // equals nothing.
  bool overflowed() const { return overflowed_; }
  bool IsZero() const { return terms_.empty() && !overflowed_; }

  friend Size operator+(const Size& a, const Size& b) { return Sum(a, b, 1); }
  friend Size operator-(const Size& a, const Size& b) { return Sum(a, b, -1); }
  friend Size operator*(const Size& a, const Size& b);
  friend bool operator==(const Size& a, const Size& b) {
    return !a.overflowed_ && !b.overflowed_ && a.terms_ == b.terms_;
  }

 private:
  friend class SizeSolver;
  static Size Sum(const Size& a, const Size& b, int64_t scale);
  void Add(const Monomial& monomial, int64_t coefficient);

  std::map<Monomial, int64_t> terms_;
  bool overflowed_ = false;
};

// Collects equations and solves them for symbols, as far as the solutions are polynomials without
// negative coefficients.
class SizeSolver {
 public:
  enum class Kind {
    kSize,       // a dimension: at least 1
    kAttribute,  // an attribute that the source determines: at least 0
    kDependent,  // an attribute of the target, to be expressed by the other symbols
  };

  // A new symbol. `hint`: its preferred name.
  IndexExpr New(absl::string_view hint, Kind kind);

  // Adds the equation a = b. InvalidArgument if the equations contradict each other or a size
  // overflows. An equation that cannot be solved is kept. Ignores an equation if a side is not a
  // polynomial over atoms.
  // `stated`: no operator implies the equation, so Unsolved must list it.
  absl::Status Equate(const IndexExpr& a, const IndexExpr& b, bool stated = false);
  // Adds all equations in the conjunction `guard`; ignores its other conditions.
  absl::Status Assume(const Guard& guard);
  // Sets the value that Close gives to `symbol` if no equation determines it.
  void SetFallback(const IndexExpr& symbol, const IndexExpr& value);
  // Gives symbols without a value their fallback. Call it after the last equation.
  void Close();

  // The value of `e`, with solved symbols substituted; nullopt if it is no polynomial over atoms.
  std::optional<Size> Value(const IndexExpr& e) const;
  // Whether both are polynomials with equal values.
  bool Same(const IndexExpr& a, const IndexExpr& b) const;
  // The value of `e` as a sum of products, or `e` itself if the value is not a polynomial.
  // InvalidArgument if the value overflowed.
  absl::StatusOr<IndexExpr> Normalized(const IndexExpr& e) const;
  // The stated equations that are not solved, each as a polynomial that must be 0.
  std::vector<Size> Unsolved() const;
  // Polynomials l and r without negative coefficients such that l <= r is equivalent to 0 <= size,
  // and l = r to 0 = size. r - l is `size` without factors known to be positive.
  std::pair<Size, Size> Sides(const Size& size) const;
  // A size in the text form of rules; "?" if `e` is no polynomial over atoms. Symbols get their
  // final names when they are first printed.
  std::string Text(const Size& size);
  std::string Text(const IndexExpr& e);

 private:
  struct Atom {
    Kind kind = Kind::kSize;
    std::string hint;  // of a symbol
    bool is_div = false;
    Size numerator, denominator;  // of a quotient
    std::optional<Size> value;    // of a symbol that is solved
    std::optional<IndexExpr> fallback;
    std::string name;  // given on first use
  };
  struct Equation {
    Size zero;
    bool stated = false;
  };

  Size Substitute(const Size& size) const;
  Size Div(const Size& a, const Size& b) const;
  int Intern(const Size& numerator, const Size& denominator) const;
  // `size` divided by factors known to be positive.
  Size Reduced(Size size) const;
  // Whether `size` is positive for all values of the symbols. False: this is not known.
  bool AlwaysPositive(const Size& size) const;
  bool Mentions(const Size& size, int symbol) const;
  IndexExpr ToIndex(const Size& size) const;
  absl::Status SolveAll();
  bool SolveOne(const Size& zero);
  int Rank(int symbol) const;
  std::string TextOfMonomial(const Size::Monomial& monomial, int64_t coefficient);

  mutable std::vector<Atom> atoms_;
  std::vector<Equation> open_;
  std::map<std::string, int> names_;
};

}  // namespace lemma::taso

#endif  // LEMMA_REWRITE_TASO_SIZES_H_
