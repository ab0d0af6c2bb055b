// Finds the batch dimensions of a statement (rewrite/rules/batch_text.h). Internal to rewrite/.
#ifndef LEMMA_REWRITE_RULES_BATCH_DIMS_H_
#define LEMMA_REWRITE_RULES_BATCH_DIMS_H_

#include <memory>

#include "rewrite/rules/statement.h"

namespace lemma {

class BatchDims {
 public:
  // `statement` must outlive the object.
  explicit BatchDims(const Statement& statement);
  ~BatchDims();

  // Whether dimension `dim` of a tensor of the source (side 0) or the target (side 1) is a batch
  // dimension.
  bool IsBatch(int side, TensorId tensor, size_t dim) const;
  // The size of a dimension, whether or not it is a batch dimension.
  const IndexExpr& SizeOf(int side, TensorId tensor, size_t dim) const;

 private:
  class Finder;
  std::unique_ptr<Finder> finder_;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_BATCH_DIMS_H_
