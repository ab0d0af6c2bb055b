// The results that a program of kernels has to compute: those of its nodes, each by its own
// definition. Internal to verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_MEANING_H_
#define LEMMA_VERIFIER_KERNELS_MEANING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/expr/arithmetic.h"
#include "graph/graph.h"
#include "verifier/kernels/extremes.h"
#include "verifier/kernels/memory.h"

namespace lemma::kernels {

// Nodes that are computed together, in order, in one arithmetic.
class Meaning {
 public:
  // InvalidArgument if a node has no definition with constant sizes. If a kernel streams a softmax
  // into a product (`streams`), it may round the softmax elsewhere than the nodes do: what lies
  // between the softmax's total and the product is not rounded to 16 bits then.
  static absl::StatusOr<Meaning> Of(absl::Span<const NodePtr> nodes, std::vector<Value> operands,
                                    bool streams);

  // The 16-bit type to which the nodes round what may be rounded elsewhere; nullopt: none.
  std::optional<DType> free_rounding() const { return free_rounding_; }

  Arithmetic arithmetic() const { return arithmetic_; }
  bool integers() const { return arithmetic_ == Arithmetic::kInteger; }
  // Whether to compare under the second meaning of extremes (extremes.h) too: if a reduction is a
  // maximum or minimum or, up to 10^6 operations, if one of two numbers is taken. With few
  // elements, a random check may miss an operand of these.
  bool needs_extremes() const;
  // Scalar operations of one evaluation.
  double operations() const { return operations_; }

  // Whether an operand is used as an index.
  bool has_indices() const;
  // Whether single numbers matter (Draw with `few`): some function is discontinuous, or infinities
  // or NaN matter to it.
  bool compares() const { return !constants_.empty(); }
  // Random values of operand `k`. Operands that are used as indices are drawn from [`least`,
  // `end`). `few`: the others are drawn from few numbers, among them the constants of the
  // definitions and their neighbours.
  SlotMemory Draw(size_t k, int64_t least, int64_t end, uint64_t seed, bool few) const;
  // The results of the last node, in the representation of SlotMemory; they are not rounded to
  // their types, since a store does that. `floats`: constants are f32. OutOfRange if an operand is
  // no valid index.
  absl::StatusOr<std::vector<SlotMemory>> Evaluate(absl::Span<const SlotMemory* const> operands,
                                                   bool floats,
                                                   const std::optional<Extremes>& extremes) const;

 private:
  std::vector<NodePtr> nodes_;
  std::vector<Value> operands_;
  std::vector<Definition> definitions_;  // of the nodes; all but the last one round their results
  std::vector<bool> is_index_;           // by operand
  Arithmetic arithmetic_ = Arithmetic::kFloat;
  double operations_ = 0;
  std::vector<double> constants_;  // of the definitions; empty unless one of them compares
  std::optional<DType> free_rounding_;
  bool special_ = false;  // whether infinities and NaN are among the few numbers
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_MEANING_H_
