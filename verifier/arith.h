// Facts about sizes and indices, and what follows from them. Internal to the prover.
#ifndef LEMMA_VERIFIER_ARITH_H_
#define LEMMA_VERIFIER_ARITH_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/expr/index_expr.h"
#include "verifier/poly.h"
#include "verifier/solver.h"

namespace lemma::verify {

struct Fact {
  enum class Kind { kGe, kEq, kNe };  // p >= 0, p = 0, p != 0
  Kind kind = Kind::kGe;
  Poly p;

  static Fact Ge(Poly p) { return {Kind::kGe, std::move(p)}; }
  static Fact Eq(Poly p) { return {Kind::kEq, std::move(p)}; }
  friend bool operator==(const Fact& a, const Fact& b) { return a.kind == b.kind && a.p == b.p; }
  friend bool operator<(const Fact& a, const Fact& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.p < b.p;
  }
};
using Facts = std::vector<Fact>;

Fact Negation(const Fact& fact);
// Divides by the content (rounding bounds), gives equalities a sign.
Fact Normalized(const Fact& fact);

enum class Effort {
  kSyntax,  // no solver
  kLinear,  // monomials as unknowns, with lemmas on their products
  kFull,    // then nonlinear integer arithmetic, up to the resource limit
};

// A question answered "yes" by the solver: `script` is unsatisfiable.
struct Obligation {
  std::string what;
  std::string script;
};

// Decides implications. Incomplete: false means that no proof was found.
class Arith {
 public:
  explicit Arith(Leaves* leaves) : leaves_(*leaves) {}

  bool Implied(const Facts& context, const Fact& goal, Effort effort = Effort::kLinear);
  bool Unsatisfiable(const Facts& context, Effort effort = Effort::kLinear);
  // The same of `context` and `facts`; looks at those of `context` only that bear on `facts`.
  bool Contradicts(const Facts& context, const Facts& facts, Effort effort = Effort::kLinear);
  // Equal under `context`.
  bool Equal(const Facts& context, const Poly& a, const Poly& b, Effort effort = Effort::kLinear);
  bool NonNegative(const Facts& context, const Poly& p, Effort effort = Effort::kLinear) {
    return Implied(context, Fact::Ge(p), effort);
  }
  bool Positive(const Facts& context, const Poly& p, Effort effort = Effort::kLinear) {
    return Implied(context, Fact::Ge(p - 1), effort);
  }
  // 0 <= r < b.
  bool IsDigit(const Facts& context, const Poly& r, const Poly& b) {
    return NonNegative(context, r) && NonNegative(context, b - 1 - r);
  }

  // Rewrites quotients as far as `context` decides them.
  Poly SimplifyDivs(const Facts& context, const Poly& p);
  Fact SimplifyFact(const Facts& context, const Fact& fact);

  Leaves& leaves() { return leaves_; }
  Solver& solver() { return solver_; }
  uint32_t rlimit = 200000;  // of a nonlinear query
  // Collected while set.
  std::vector<Obligation>* log = nullptr;

 private:
  struct Bounds;
  bool Ask(const Facts& facts, const std::string& what, Effort effort);
  bool SyntacticallyNonNegative(const Bounds& bounds, const Poly& p);
  Facts Relevant(const Facts& context, const Poly& goal);
  // Adds what defines the quotients, minima and maxima in `facts`.
  void Define(Facts* facts, Facts* rest, int depth);
  std::string Script(const Facts& facts, bool nonlinear);
  std::optional<Poly> SimplifyDiv(const Facts& context, const Poly& a, const Poly& b);

  Leaves& leaves_;
  Solver solver_;
  int depth_ = 0;
  // Answers by facts and effort; with the script if it was unsatisfiable.
  struct Answer {
    bool holds = false;
    std::string script;
  };
  std::map<std::pair<Facts, int>, Answer> answers_;
};

}  // namespace lemma::verify

#endif  // LEMMA_VERIFIER_ARITH_H_
