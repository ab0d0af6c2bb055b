// Computes the results that a program of kernels must give: the results of its nodes, evaluated one
// by one by their definitions. Internal to verifier/kernels.
#ifndef LEMMA_VERIFIER_KERNELS_MEANING_H_
#define LEMMA_VERIFIER_KERNELS_MEANING_H_

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/expr/arithmetic.h"
#include "graph/graph.h"
#include "verifier/kernels/extremes.h"
#include "verifier/kernels/memory.h"

namespace lemma::kernels {

// The nodes of one ProgramPart (kernel_check.h), evaluated in one arithmetic.
class Meaning {
 public:
  // `nodes`, `operands`: as in ProgramPart. `streams`: whether a kernel streams a softmax into a
  // product (computes both tile by tile). Such a kernel may round the softmax at another place than
  // the nodes do. So with `streams`, the softmax, and its copies and conversions up to the product,
  // are not rounded to their 16-bit type; InvalidArgument if they have two different 16-bit types.
  // Also an error if a node has no definition with constant sizes.
  static absl::StatusOr<Meaning> Of(absl::Span<const NodePtr> nodes, std::vector<Value> operands,
                                    bool streams);

  // The 16-bit type of the results that are not rounded because of `streams`; nullopt: none.
  std::optional<DType> free_rounding() const { return free_rounding_; }

  Arithmetic arithmetic() const { return arithmetic_; }
  bool integers() const { return arithmetic_ == Arithmetic::kInteger; }
  // Whether the results must also be compared under the second meaning of
  // maxima and minima (extremes.h), since a check at random numbers may miss an
  // operand of a maximum or minimum. True if the nodes have a maximum or
  // minimum over axes. Also true if they have a maximum or minimum of two
  // numbers and operations() is at most 10^6.
  bool needs_extremes() const;
  // The number of scalar operations of one evaluation.
  double operations() const { return operations_; }

  // Whether an operand is used as an index.
  bool has_indices() const;
  // Says that kernels may use every operand of integers of 32 or 64 bits as an index.
  void UseIntegersAsIndices();
  // Whether the results must also be compared on operands that are drawn from
  // few different numbers (Draw with `few`). True if a function is
  // discontinuous, or if abs, max or min may get an infinity or NaN.
  bool needs_few_numbers() const { return !constants_.empty(); }
  // Random values of operand `k`. An operand that is used as an index is drawn from [`least`,
  // `end`), limited to its type's range. `few`: any other operand is drawn from few numbers, among
  // them the constants of the definitions, their neighbors and, where they may occur, infinities
  // and NaN. `few` has no effect unless needs_few_numbers() is true.
  SlotMemory Draw(size_t k, int64_t least, int64_t end, uint64_t seed, bool few) const;
  // As Draw without `few`, but elements that are positions run through
  // [`least`, `end`) in turn: each row of `end` - `least` elements has each of
  // these numbers once. The next `turn` gives each element the next number.
  // Positions are the elements of operands that are used as indices. If
  // needs_few_numbers(), all integers are positions, since they may be compared
  // with positions.
  SlotMemory DrawInTurn(size_t k, int64_t least, int64_t end, uint64_t seed, int64_t turn) const;
  // The sizes of the axes of operands and results, up to `most`.
  std::set<int64_t> Axes(int64_t most) const;
  // The number of elements of the smallest operand whose elements are positions (see DrawInTurn).
  // Operands without elements do not count. 0 if there is no such operand.
  int64_t LeastPositions() const;
  // The results of the last node for `operands`, given in order. The results are not rounded to
  // their types (a store in a slot rounds them). `floats`: round the definitions' constants to f32.
  // OutOfRange if an element that is used as an index is outside the tensor that it indexes.
  absl::StatusOr<std::vector<SlotMemory>> Evaluate(absl::Span<const SlotMemory* const> operands,
                                                   bool floats,
                                                   const std::optional<Extremes>& extremes) const;

 private:
  bool HasPositions(size_t k) const;

  std::vector<NodePtr> nodes_;
  std::vector<Value> operands_;
  std::vector<Definition> definitions_;  // of the nodes; all but the last one round their results
  std::vector<bool> is_index_;           // by operand
  Arithmetic arithmetic_ = Arithmetic::kFloat;
  double operations_ = 0;
  std::vector<double> constants_;  // of the definitions; empty unless needs_few_numbers()
  std::optional<DType> free_rounding_;
  bool special_ = false;  // whether infinities and NaN are among the few numbers
};

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_MEANING_H_
