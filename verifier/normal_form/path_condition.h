// The path condition of a case distinction: the comparisons of integers that are decided so far.
// Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_PATH_CONDITION_H_
#define LEMMA_VERIFIER_NORMAL_FORM_PATH_CONDITION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "graph/expr/index_expr.h"

namespace lemma::prover {

// Keeps, for each sum of indices that was compared, its range and the values that it cannot have.
// So comparisons of this sum plus a constant, and of the negated sum, are decided too.
class PathCondition {
 public:
  // Whether e = 0 (if `equal`) or e >= 0 (otherwise); nullopt if the decisions so far do not say.
  std::optional<bool> Decide(const IndexExpr& e, bool equal) const;
  // This path condition with one more decision: the comparison e = 0 (if `equal`) or e >= 0
  // (otherwise) is true (if `holds`) or false (otherwise). Unchanged if a coefficient or constant
  // in e reaches 2^60.
  PathCondition With(const IndexExpr& e, bool equal, bool holds) const;
  bool empty() const { return ranges_.empty(); }

 private:
  static constexpr int64_t kFar = int64_t{1} << 60;
  struct Range {
    int64_t low = -kFar, high = kFar;
    std::set<int64_t> holes;
  };
  std::map<std::string, Range> ranges_;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_PATH_CONDITION_H_
