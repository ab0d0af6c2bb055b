// The only interface to Z3: takes SMT-LIB text, returns an answer.
#ifndef LEMMA_VERIFIER_ARITHMETIC_SOLVER_H_
#define LEMMA_VERIFIER_ARITHMETIC_SOLVER_H_

#include <cstdint>
#include <string>

namespace lemma::prover {

enum class Satisfiable { kNo, kYes, kUnknown };

// An answer depends on the text and the limit alone: each query has its own context, and a resource
// limit, not a clock, ends it. So answers are cached for all solvers of the process, in all
// threads: the forms of a rule, and similar rules, lead to the same queries.
class Solver {
 public:
  // Whether the assertions of `script` can hold at once. `script`: declarations and assertions,
  // without check-sat. `rlimit`: in Z3's own steps; kUnknown beyond it.
  Satisfiable Check(const std::string& script, uint32_t rlimit);

  // Number of calls of Check, cached or not.
  int64_t queries() const { return queries_; }

 private:
  int64_t queries_ = 0;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_SOLVER_H_
