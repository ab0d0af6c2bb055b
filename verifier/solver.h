// The only way to Z3: SMT-LIB text in, an answer out.
#ifndef LEMMA_VERIFIER_SOLVER_H_
#define LEMMA_VERIFIER_SOLVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace lemma::verify {

enum class Satisfiable { kNo, kYes, kUnknown };

// Answers are remembered by text. They depend on the text and the limit alone: each query is asked
// in a context of its own, and a resource limit rather than a clock ends it.
class Solver {
 public:
  Solver();
  ~Solver();
  // `script`: declarations and assertions, no check-sat.
  Satisfiable Check(const std::string& script, uint32_t rlimit);

  int64_t queries() const { return queries_; }
  int64_t hits() const { return hits_; }

 private:
  std::map<std::string, Satisfiable> cache_;
  int64_t queries_ = 0, hits_ = 0;
};

}  // namespace lemma::verify

#endif  // LEMMA_VERIFIER_SOLVER_H_
