// Follows parts of dimensions through operators that only move elements, such as a reshape.
#ifndef LEMMA_RUNTIME_CPU_BLOCKS_MOVED_DIMS_H_
#define LEMMA_RUNTIME_CPU_BLOCKS_MOVED_DIMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace lemma::cpu {

// Consecutive numbers.
struct Range {
  int64_t begin = 0, size = 0;

  bool operator==(const Range& o) const { return begin == o.begin && size == o.size; }
};

// A digit of the indices of a dimension: index / stride % extent, where the extent is known from
// elsewhere. A dimension of 12 indices that stands for 3 rows of 4 has the digits of stride 4 (the
// row) and of stride 1.
struct Digit {
  int dim = -1;  // -1: none
  int64_t stride = 1;

  bool operator==(const Digit& o) const { return dim == o.dim && stride == o.stride; }
  bool operator!=(const Digit& o) const { return !(*this == o); }
};

// An operator whose only result has at index i the element of its only input at index at(i).
struct MovedDims {
  Shape from, to;           // of the input and of the result
  std::vector<VarId> vars;  // by dimension of the result
  Idx at;                   // by dimension of the input
};
// nullopt if the node's definition has another form.
std::optional<MovedDims> MovedDimsOf(const Node& node);

// The digit of the input's index that equals the digit `of_result` of the
// result's index; its dim is -1 if no dimension of the input depends on
// `of_result`. nullopt if there is no such digit, or if result and input have
// different numbers of elements. If there is no such digit and *inner becomes
// greater than 1, `of_result` can be divided into two digits, the inner one of
// the extent *inner, and each of these two may have a digit of the input.
//
// Example: x[3,4] reshaped to y[12] has x's digit {0, 1} for y's digit {0, 4} of extent 3, and
// *inner = 4 for y's digit {0, 1} of extent 12.
std::optional<Digit> DigitOfInput(const MovedDims& moved, const Digit& of_result, int64_t extent,
                                  int64_t* inner);
// The inverse: the digit of the result's index that equals the digit `of_input`
// of the input's index. nullopt and *inner are as above, for `of_input`.
std::optional<Digit> DigitOfResult(const MovedDims& moved, const Digit& of_input, int64_t extent,
                                   int64_t* inner);

// Whether `block`, applied to the indices `of_input` of the input of `whole`, gives the indices
// `of_result` of its result. Positions are compared as expressions, simplified for the ranges of
// the indices, or else one by one; false if there are too many.
bool MovesBlock(const MovedDims& whole, const std::vector<Range>& of_input,
                const std::vector<Range>& of_result, const MovedDims& block);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_BLOCKS_MOVED_DIMS_H_
