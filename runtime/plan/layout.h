// Physical layouts of values: element strides over logical dimensions.
//
// A graph has logical shapes only; strides say where an element lies in memory. Channels-last has
// the strides [H*W*C, 1, W*C, C], a transposed view permutes strides, a slice adds an offset, a
// broadcast has stride 0.
#ifndef LEMMA_RUNTIME_PLAN_LAYOUT_H_
#define LEMMA_RUNTIME_PLAN_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace lemma {

using Strides = std::vector<int64_t>;

// Strides of [N, C, spatial…] with the channels innermost; the rank must be at least 3.
Strides ChannelsLast(const Shape& shape);

// Whether `a` and `b` place each element of the shape at the same position. Strides of dimensions
// of size 1 do not matter.
bool SameLayout(const Shape& shape, const Strides& a, const Strides& b);

// Whether elements fill a block of memory without gaps or overlap, in some order of the dimensions.
bool IsDense(const Shape& shape, const Strides& strides);

// The number of positions in memory from the first element to the last, inclusive; 0 for an empty
// tensor. Strides must not be negative.
int64_t SpanOf(const Shape& shape, const Strides& strides);

// The dimensions from the largest stride to the smallest. Dimensions of size 1 keep their places in
// the row-major order.
std::vector<int> DimOrder(const Shape& shape, const Strides& strides);

// Dense strides such that `order` lists the dimensions from the largest stride to the smallest.
Strides DenseInOrder(const Shape& shape, const std::vector<int>& order);

// The strides that show a tensor of shape `from` with `strides` as a tensor of shape `to` in the
// same memory: elements with the same row-major number are the same. nullopt if no strides do so.
std::optional<Strides> ReshapedView(const Shape& from, const Strides& strides, const Shape& to);

// Takes the elements, in the order of memory, as rows of `columns` elements. Returns the distance
// from one row to the next, in elements, if the rows have no gaps inside and are evenly spaced;
// nullopt otherwise.
std::optional<int64_t> RowStepOf(const Shape& shape, const Strides& strides, int64_t columns);

// "row-major", "channels-last", or the strides, such as "(1,8)".
std::string LayoutName(const Shape& shape, const Strides& strides);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_LAYOUT_H_
