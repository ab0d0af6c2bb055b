// The only way to Z3: SMT-LIB text in, an answer out.
#ifndef LEMMA_VERIFIER_ARITHMETIC_SOLVER_H_
#define LEMMA_VERIFIER_ARITHMETIC_SOLVER_H_

#include <cstdint>
#include <string>

namespace lemma::prover {

enum class Satisfiable { kNo, kYes, kUnknown };

// Answers depend on the text and the limit alone: each query is asked in a context of its own, and
// a resource limit rather than a clock ends it. So they are remembered for all solvers of the
// process, in any thread; forms of a rule, and rules that resemble each other, ask the same.
class Solver {
 public:
  // `script`: declarations and assertions, no check-sat.
  Satisfiable Check(const std::string& script, uint32_t rlimit);

  // Calls of Check, remembered or not.
  int64_t queries() const { return queries_; }

 private:
  int64_t queries_ = 0;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_SOLVER_H_
