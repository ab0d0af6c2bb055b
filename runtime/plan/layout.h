// Describes where the elements of a tensor lie in memory: one stride per dimension of its shape.
//
// Shapes in a graph are logical; strides say where an element lies in memory. All strides are in
// elements. For example, a tensor [N, C, H, W] in the channels-last layout has the strides
// [H*W*C, 1, W*C, C]. A transposed view permutes strides, a slice adds an offset, and a broadcast
// dimension has stride 0.
#ifndef LEMMA_RUNTIME_PLAN_LAYOUT_H_
#define LEMMA_RUNTIME_PLAN_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace lemma {

using Strides = std::vector<int64_t>;  // by dimension, in elements

// Strides of [N, C, spatial…] with the channels innermost; the rank must be at least 3.
Strides ChannelsLast(const Shape& shape);

// Whether `a` and `b` place each element of a tensor of this shape at the same position. Strides of
// dimensions of size 1 do not matter.
bool SameLayout(const Shape& shape, const Strides& a, const Strides& b);

// Whether elements fill a block of memory without gaps or overlap, in some order of the dimensions.
bool IsDense(const Shape& shape, const Strides& strides);

// The number of positions in memory from the first element to the last, inclusive; 0 for an empty
// tensor. Strides must not be negative.
int64_t SpanOf(const Shape& shape, const Strides& strides);

// The dimensions, ordered from the largest stride to the smallest. Dimensions of size 1 keep the
// places that they have in the shape.
std::vector<int> DimOrder(const Shape& shape, const Strides& strides);

// Dense strides such that `order` lists the dimensions from the largest stride to the smallest.
Strides DenseInOrder(const Shape& shape, const std::vector<int>& order);

// Views a tensor of shape `from` with `strides` as a tensor of shape `to` in the same memory, by a
// row-major reshape such as [2, 3] -> [6]. Returns the strides of the view; nullopt if no strides
// give this view.
std::optional<Strides> ReshapedView(const Shape& from, const Strides& strides, const Shape& to);

// Splits the elements, in their order in memory, into rows of `columns` elements. Returns the
// distance from the start of one row to the start of the next, in elements, or `columns` if there
// is one row only. nullopt if a row has gaps inside, if rows overlap or are not evenly spaced, or
// if the number of elements is 0 or no multiple of `columns`.
std::optional<int64_t> RowStepOf(const Shape& shape, const Strides& strides, int64_t columns);

// "row-major", "channels-last", or the strides, such as "(1,8)".
std::string LayoutName(const Shape& shape, const Strides& strides);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_LAYOUT_H_
