// Decides whether facts about integer sizes and indices imply other facts. Internal to the prover.
// Simple rules decide most questions. arith_query.cc decides the others: by a search for small
// integers that are a counterexample (model_search.h), by linear arithmetic (linear.h) and, if
// these do not suffice, by the solver Z3 (solver.h).
#ifndef LEMMA_VERIFIER_ARITHMETIC_ARITH_H_
#define LEMMA_VERIFIER_ARITHMETIC_ARITH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/expr/polynomial.h"
#include "verifier/arithmetic/fact.h"
#include "verifier/arithmetic/model_search.h"
#include "verifier/arithmetic/solver.h"

namespace lemma::prover {

enum class Effort {
  kSyntax,  // no solver
  kLinear,  // linear arithmetic: each product of leaves is one unknown, with known facts about it
  kFull,    // as kLinear; if that finds no proof, also nonlinear integer arithmetic
};

// A proved fact. `script` states the known facts and the negation of this fact. They cannot all
// hold: DecideLinear (linear.h) or the solver found this.
struct Obligation {
  // For people: the polynomial that the fact compares with 0, or a description of the fact.
  // "empty": the known facts contradict each other.
  std::string what;
  std::string script;  // as in Solver::Check
};

// Decides implications between facts (fact.h). Below, `context` is the list of known facts.
// Incomplete: false means only that no proof was found. The leaves must outlive the object. Not
// thread-safe.
class Arith {
 public:
  explicit Arith(Leaves* leaves) : leaves_(*leaves), models_(*leaves) {}

  // Implied: whether `goal` holds wherever all facts of `context` hold. Unsatisfiable: whether the
  // facts of `context` cannot all hold at once.
  bool Implied(const Facts& context, const Fact& goal, Effort effort = Effort::kLinear);
  bool Unsatisfiable(const Facts& context, Effort effort = Effort::kLinear);
  // Whether `context` and `facts` contradict each other. Uses only those facts of `context` that
  // share leaves with `facts`, directly or through other facts.
  bool Contradicts(const Facts& context, const Facts& facts, Effort effort = Effort::kLinear);
  // Whether a = b wherever `context` holds.
  bool Equal(const Facts& context, const Poly& a, const Poly& b, Effort effort = Effort::kLinear);
  bool NonNegative(const Facts& context, const Poly& p, Effort effort = Effort::kLinear) {
    return Implied(context, Fact::Ge(p), effort);
  }
  bool Positive(const Facts& context, const Poly& p, Effort effort = Effort::kLinear) {
    return Implied(context, Fact::Ge(p - 1), effort);
  }
  // Whether 0 <= r < b wherever `context` holds.
  bool IsDigit(const Facts& context, const Poly& r, const Poly& b) {
    return NonNegative(context, r) && NonNegative(context, b - 1 - r);
  }

  // Replaces quotients, minima and maxima by simpler polynomials where `context` allows it.
  Poly SimplifyDivs(const Facts& context, const Poly& p);
  Fact SimplifyFact(const Facts& context, const Fact& fact);

  Leaves& leaves() { return leaves_; }
  Solver& solver() { return solver_; }
  uint32_t rlimit = 200000;  // limit of each query, in the solver's own steps
  // If set, receives each fact that was proved by more than simple rules. Not owned.
  std::vector<Obligation>* log = nullptr;

 private:
  bool Ask(const Facts& facts, const std::string& what, Effort effort);
  Facts Relevant(const Facts& context, const Poly& goal);
  // Adds the facts that define the quotients, minima and maxima in `facts`.
  // `rest`: the facts without the goal; they must show that a divisor is
  // positive. `depth`: how deeply questions are nested.
  void Define(Facts* facts, Facts* rest, int depth);
  void RelateQuotients(const std::vector<Leaf>& divs, const Facts& rest, Facts* facts);
  std::string Script(const Facts& facts, bool nonlinear);
  std::optional<Poly> SimplifyDiv(const Facts& context, const Poly& a, const Poly& b);

  Leaves& leaves_;
  Solver solver_;
  ModelSearch models_;
  int depth_ = 0;
  // An answer, with the script if the facts were unsatisfiable.
  struct Answer {
    bool holds = false;
    std::string script;
  };
  // A table from facts and effort to answers. References to answers stay valid.
  class Memo {
   public:
    // The answer to the question, and whether it is new.
    std::pair<Answer*, bool> Find(const Facts& facts, Effort effort);

   private:
    struct Entry {
      Facts facts;
      Effort effort;
      std::unique_ptr<Answer> answer;
    };
    std::unordered_map<uint64_t, std::vector<Entry>> entries_;
  };
  Memo answers_;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_ARITH_H_
