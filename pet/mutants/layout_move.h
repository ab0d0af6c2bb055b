// Layout moves: how a mutant lays a tensor out anew, and back.
#ifndef LEMMA_PET_MUTANTS_LAYOUT_MOVE_H_
#define LEMMA_PET_MUTANTS_LAYOUT_MOVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::pet {

// Takes a digit out of the index of one dimension and puts it into that of another:
// with i = outer digit * (size / factor) + rest, or i = rest * factor + inner digit.
struct DigitMove {
  int from = 0, to = 0;
  int64_t factor = 1;       // values of the digit; divides the size of `from`
  bool from_inner = false;  // the last digit of `from`, else the first
  bool to_inner = false;    // becomes the last digit of `to`, else the first

  DigitMove Inverse() const { return {to, from, factor, to_inner, from_inner}; }
  std::string ToString() const;
};

// Of operators reshape and transpose. InvalidArgument if the factor does not divide.
absl::StatusOr<Value> ApplyMove(const Value& x, const DigitMove& move);
// The shape of that; empty if the factor does not divide.
Shape ShapeAfter(Shape shape, const DigitMove& move);

// Cuts dimension `from` into `blocks` of which each has `overlap` elements of the next, and puts
// them side by side as the first digit of `to`: slices and a concat.
struct BlockMove {
  int from = 0, to = 0;
  int64_t blocks = 1, overlap = 0;

  std::string ToString() const;
};
// InvalidArgument unless the size of `from`, less the overlap, divides into blocks.
absl::StatusOr<Value> ApplyMove(const Value& x, const BlockMove& move);

// Puts `blocks` parts of dimension `from` on the diagonal of a matrix of blocks: dimension `to` is
// so many times as long, and zero where its first digit is not that of `from`. Of operators pad,
// reshape, slice and transpose. InvalidArgument if the parts are not equal.
struct DiagonalMove {
  int from = 0, to = 0;
  int64_t blocks = 1;
};
absl::StatusOr<Value> ApplyMove(const Value& x, const DiagonalMove& move);

// x with zeros before and behind a dimension; negative: cut off.
absl::StatusOr<Value> PadDim(const Value& x, int dim, int64_t before, int64_t after);
// Elements [starts, starts + sizes) of x, or with steps; x itself where that is all.
absl::StatusOr<Value> SliceOf(const Value& x, const Shape& starts, const Shape& sizes,
                              const Shape& steps = {});
// Reshape, transpose, reshape; without the transpose where that leaves the elements in place.
absl::StatusOr<Value> Rearranged(const Value& x, const Shape& split,
                                 const std::vector<int64_t>& perm, const Shape& shape);
absl::StatusOr<Value> ReshapeTo(const Value& x, const Shape& shape);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_LAYOUT_MOVE_H_
