// Layout moves: the steps with which a mutant changes the layout of a tensor. Dimensions are
// numbered from 0.
#ifndef LEMMA_PET_MUTANTS_LAYOUT_MOVE_H_
#define LEMMA_PET_MUTANTS_LAYOUT_MOVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::pet {

// Moves a digit of dimension `from` to dimension `to`. The index i of `from` is first digit * (size
// / factor) + rest, or rest * factor + last digit. Example: from = 0, to = 1 and factor = 2 change
// [4, 6] to [2, 12].
struct DigitMove {
  int from = 0, to = 0;
  int64_t factor = 1;       // number of values of the digit; divides the size of `from`
  bool from_inner = false;  // takes the last digit of `from`; false: the first
  bool to_inner = false;    // makes it the last digit of `to`; false: the first

  DigitMove Inverse() const { return {to, from, factor, to_inner, from_inner}; }
  std::string ToString() const;
};

// x after the move, by reshapes and a transpose. InvalidArgument if the factor does not divide the
// size.
absl::StatusOr<Value> ApplyMove(const Value& x, const DigitMove& move);
// The shape after the move; empty if the factor does not divide the size.
Shape ShapeAfter(Shape shape, const DigitMove& move);

// Cuts dimension `from` into `blocks` blocks of equal size and makes the block's number the first
// digit of `to`. Neighboring blocks share `overlap` elements: 2 blocks of a dimension of size 8,
// with overlap 2, are [0, 5) and [3, 8). Uses slices and a concat.
struct BlockMove {
  int from = 0, to = 0;
  int64_t blocks = 1, overlap = 0;

  std::string ToString() const;
};
// InvalidArgument unless the size of `from`, less the overlap, is positive and a multiple of the
// number of blocks.
absl::StatusOr<Value> ApplyMove(const Value& x, const BlockMove& move);

// Puts `blocks` equal parts of dimension `from` on the diagonal of a block matrix. Dimension `from`
// keeps its size; dimension `to` becomes `blocks` times as long. Example: from = 0, to = 1 and 2
// blocks change [4, 3] to [4, 6]. Rows 0 and 1 then have their elements in columns 0 to 2, rows 2
// and 3 in columns 3 to 5; all other elements are zero. Uses pad, reshape, slice and transpose.
struct DiagonalMove {
  int from = 0, to = 0;
  int64_t blocks = 1;
};
// InvalidArgument if `blocks` does not divide the size of `from`, or if `from` equals `to`.
absl::StatusOr<Value> ApplyMove(const Value& x, const DiagonalMove& move);

// x with `before` zeros added at the start of dimension `dim`, and `after` zeros at its end.
// Negative numbers cut elements off.
absl::StatusOr<Value> PadDim(const Value& x, int dim, int64_t before, int64_t after);
// The tensor of shape `sizes` whose element i is x[starts + i * steps]; x itself if this is all of
// x. Empty `steps`: all steps are 1.
absl::StatusOr<Value> SliceOf(const Value& x, const Shape& starts, const Shape& sizes,
                              const Shape& steps = {});
// x reshaped to `split`, transposed by `perm`, and reshaped to `shape`. Leaves out the transpose if
// it moves no element.
absl::StatusOr<Value> Rearranged(const Value& x, const Shape& split,
                                 const std::vector<int64_t>& perm, const Shape& shape);
// x reshaped to `shape`; x itself if it has this shape already.
absl::StatusOr<Value> ReshapeTo(const Value& x, const Shape& shape);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_LAYOUT_MOVE_H_
