// The only interface to the SMT solver Z3: takes a text in SMT-LIB, returns an answer.
#ifndef LEMMA_VERIFIER_ARITHMETIC_SOLVER_H_
#define LEMMA_VERIFIER_ARITHMETIC_SOLVER_H_

#include <cstdint>
#include <string>

namespace lemma::prover {

// Whether some statements can all hold at once.
enum class Satisfiable { kNo, kYes, kUnknown };

// An answer depends only on the text and the limit: each query has its own Z3 context, and the
// limit counts Z3's steps, not time. All solvers of the process, in all threads, share one cache of
// answers.
class Solver {
 public:
  // Whether the assertions of `script` can hold at once. `script` has set-logic (QF_LIA, QF_NIA
  // or QF_NRA), declarations and assertions, but no check-sat; if it is invalid, the answer is
  // kUnknown. `rlimit` is in Z3's own steps; if they do not suffice, the answer is kUnknown.
  Satisfiable Check(const std::string& script, uint32_t rlimit);

  // The number of calls of Check, cached or not.
  int64_t queries() const { return queries_; }

 private:
  int64_t queries_ = 0;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_SOLVER_H_
