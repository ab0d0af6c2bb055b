// Layout moves: how a mutant changes the layout of a tensor, and back.
#ifndef LEMMA_PET_MUTANTS_LAYOUT_MOVE_H_
#define LEMMA_PET_MUTANTS_LAYOUT_MOVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::pet {

// Moves a digit of the index i of one dimension to the index of another, where
// i = outer digit * (size / factor) + rest, or i = rest * factor + inner digit.
struct DigitMove {
  int from = 0, to = 0;
  int64_t factor = 1;       // number of values of the digit; divides the size of `from`
  bool from_inner = false;  // take the last digit of `from`; false: the first
  bool to_inner = false;    // it becomes the last digit of `to`; false: the first

  DigitMove Inverse() const { return {to, from, factor, to_inner, from_inner}; }
  std::string ToString() const;
};

// Uses reshape and transpose. InvalidArgument if the factor does not divide the size.
absl::StatusOr<Value> ApplyMove(const Value& x, const DigitMove& move);
// The shape after the move; empty if the factor does not divide the size.
Shape ShapeAfter(Shape shape, const DigitMove& move);

// Cuts dimension `from` into `blocks`, each with `overlap` elements of the next one, and makes the
// block number the first digit of `to`. Uses slices and a concat.
struct BlockMove {
  int from = 0, to = 0;
  int64_t blocks = 1, overlap = 0;

  std::string ToString() const;
};
// InvalidArgument unless the size of `from`, less the overlap, divides into blocks.
absl::StatusOr<Value> ApplyMove(const Value& x, const BlockMove& move);

// Puts `blocks` parts of dimension `from` on the diagonal of a block matrix: dimension `to` becomes
// `blocks` times as long, and elements are zero where its first digit differs from that of `from`.
// Uses pad, reshape, slice and transpose. InvalidArgument if the parts are not of equal size.
struct DiagonalMove {
  int from = 0, to = 0;
  int64_t blocks = 1;
};
absl::StatusOr<Value> ApplyMove(const Value& x, const DiagonalMove& move);

// x with zeros before and after a dimension; negative numbers cut elements off.
absl::StatusOr<Value> PadDim(const Value& x, int dim, int64_t before, int64_t after);
// Elements [starts, starts + sizes) of x, optionally with steps; x itself if that is all of it.
absl::StatusOr<Value> SliceOf(const Value& x, const Shape& starts, const Shape& sizes,
                              const Shape& steps = {});
// Reshape, transpose, reshape; without the transpose if it moves no element.
absl::StatusOr<Value> Rearranged(const Value& x, const Shape& split,
                                 const std::vector<int64_t>& perm, const Shape& shape);
absl::StatusOr<Value> ReshapeTo(const Value& x, const Shape& shape);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_LAYOUT_MOVE_H_
