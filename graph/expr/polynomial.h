// Integer polynomials over the leaves of index expressions: a normal form of such expressions.
//
// A leaf is a symbol, an index variable, or an expression that is not a polynomial: a quotient, a
// minimum, a maximum or a load (an integer element of a tensor). Equal leaves have the same number.
#ifndef LEMMA_GRAPH_EXPR_POLYNOMIAL_H_
#define LEMMA_GRAPH_EXPR_POLYNOMIAL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace lemma {

// The number of a leaf in a Leaves object.
using Leaf = int32_t;
// Leaves in ascending order, with repetition; empty for 1. Up to four leaves need no allocation.
using Monomial = absl::InlinedVector<Leaf, 4>;

// Coefficients are 64-bit integers other than INT64_MIN. If a coefficient overflows, the polynomial
// is marked as overflowed: it has no terms and equals no polynomial, not even itself. Each sum,
// product, quotient, minimum or maximum with it is overflowed too.
class Poly {
 public:
  Poly(int64_t constant = 0);  // NOLINT: a constant reads as itself
  static Poly Of(Leaf leaf);
  static Poly Of(Monomial monomial, int64_t coefficient);

  using Terms = std::vector<std::pair<Monomial, int64_t>>;
  const Terms& terms() const { return terms_; }  // sorted by degree, then leaves; no zeros
  bool overflowed() const { return overflowed_; }
  bool IsZero() const { return terms_.empty() && !overflowed_; }
  std::optional<int64_t> AsConst() const;                 // nullopt if not constant, or overflowed
  int64_t ConstantTerm() const;                           // 0 if there is none
  int64_t CoefficientOf(const Monomial& monomial) const;  // 0 if it does not occur
  int Degree() const;                                     // 0 for constants

  friend Poly operator+(const Poly& a, const Poly& b) { return Sum(a, b, 1); }
  friend Poly operator-(const Poly& a, const Poly& b) { return Sum(a, b, -1); }
  friend Poly operator-(const Poly& a) { return Sum(Poly(), a, -1); }
  friend Poly operator*(const Poly& a, const Poly& b);
  friend bool operator==(const Poly& a, const Poly& b) {
    return !a.overflowed_ && !b.overflowed_ && a.terms_ == b.terms_;
  }
  friend bool operator!=(const Poly& a, const Poly& b) { return !(a == b); }
  // For sorted containers. All polynomials that overflowed compare as equivalent.
  friend bool operator<(const Poly& a, const Poly& b) {
    return a.overflowed_ != b.overflowed_ ? b.overflowed_ : a.terms_ < b.terms_;
  }

 private:
  static Poly Sum(const Poly& a, const Poly& b, int64_t scale);
  void Add(const Monomial& monomial, int64_t coefficient);
  void Settle(bool overflowed);

  Terms terms_;
  bool overflowed_ = false;
};

// `m` without one occurrence of `leaf`; nullopt if `leaf` does not occur.
std::optional<Monomial> Without(const Monomial& m, Leaf leaf);
// a / b; nullopt unless b divides a.
std::optional<Monomial> Quotient(const Monomial& a, const Monomial& b);
Monomial Times(const Monomial& a, const Monomial& b);
// a / b; nullopt if b is zero or does not divide a with integer coefficients, if the quotient has
// more than about 64 terms, or on overflow.
std::optional<Poly> ExactQuotient(const Poly& a, const Poly& b);
// ContentOf returns the greatest integer that divides every term of `p`, and
// CommonMonomial the greatest monomial that does. `p` must not be zero or
// overflowed.
int64_t ContentOf(const Poly& p);
Monomial CommonMonomial(const Poly& p);

namespace prover {
struct NormalForm;
}  // namespace prover
using NormalFormPtr = std::shared_ptr<const prover::NormalForm>;

// The kind of a leaf and its parts.
struct LeafInfo {
  enum class Kind { kSymbol, kVar, kDiv, kMin, kMax, kLoad };
  Kind kind = Kind::kSymbol;
  std::string name;        // of a symbol or a variable; the text of a load
  Poly a, b;               // the operands of a div b, min(a, b), max(a, b)
  NormalFormPtr load;      // the value of a load
  std::vector<Leaf> deps;  // its symbols and variables, sorted; a symbol or variable has itself
};

using LeafMap = std::map<Leaf, Poly>;

// Owns the leaves of one computation, such as a proof or a comparison of sizes. The numbers of
// leaves depend only on the order in which callers ask for the leaves.
class Leaves {
 public:
  Leaf Symbol(const std::string& name);  // one leaf for each name
  // New leaves, different from all others; `hint` is a part of the name.
  Leaf NewSymbol(const std::string& hint);
  Leaf NewVar(const std::string& hint);
  // floor(a / b), where the caller ensures b > 0. The result has a new leaf only if simplification
  // finds no polynomial over known leaves. If b is a constant that is not positive and a is not
  // zero, the result is a new symbol, "undefined".
  Poly Div(const Poly& a, const Poly& b);
  Poly Mod(const Poly& a, const Poly& b) { return a - b * Div(a, b); }
  Poly Min(const Poly& a, const Poly& b) { return Extreme(LeafInfo::Kind::kMin, a, b); }
  Poly Max(const Poly& a, const Poly& b) { return Extreme(LeafInfo::Kind::kMax, a, b); }
  // A load of `value`; loads of equal `text` are one leaf. `deps` as in LeafInfo.
  Poly Load(NormalFormPtr value, std::string text, std::vector<Leaf> deps);

  // The reference is valid until a leaf is added.
  const LeafInfo& Info(Leaf leaf) const { return infos_[leaf]; }
  // Whether the leaf is a symbol or a variable.
  bool IsBase(Leaf leaf) const { return Info(leaf).kind <= LeafInfo::Kind::kVar; }
  std::string ToString(const Poly& p) const;
  std::string ToString(Leaf leaf) const;

  // Symbols and variables in `p`, also inside other leaves, sorted.
  std::vector<Leaf> DepsOf(const Poly& p) const;
  // Calls visit(leaf) for each leaf of DepsOf(p), in any order, perhaps several
  // times for the same leaf.
  template <class Visit>
  void ForEachDep(const Poly& p, const Visit& visit) const {
    for (const auto& [m, c] : p.terms()) {
      for (Leaf leaf : m) {
        for (Leaf dep : Info(leaf).deps) visit(dep);
      }
    }
  }
  // Whether the symbol or variable `base` occurs in `p`, itself or inside another leaf.
  bool Mentions(const Poly& p, Leaf base) const;
  // Whether `base` occurs in `p` inside another leaf.
  bool MentionsInside(const Poly& p, Leaf base) const;
  // Replaces symbols and variables by the polynomials in `map`, inside other leaves too.
  Poly Substitute(const Poly& p, const LeafMap& map);

  // The polynomial for `load` after substitution. The prover sets this function
  // (verifier/normal_form). Substitute calls it only for loads that contain a key of `map`.
  std::function<Poly(const LeafInfo& load, const LeafMap& map)> substitute_load;

 private:
  Poly Extreme(LeafInfo::Kind kind, const Poly& a, const Poly& b);
  Leaf Intern(LeafInfo info);

  std::vector<LeafInfo> infos_;
  std::map<std::string, Leaf> symbols_;
  std::map<std::pair<int, std::pair<Poly, Poly>>, Leaf> pairs_;
  std::map<std::string, Leaf> loads_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_POLYNOMIAL_H_
