// Physical layouts of values: element strides over logical dimensions.
//
// Graphs are always logical; only strides say where an element lies in memory. Channels-last has
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

// [N, C, spatial…] with the channels innermost; rank at least 3.
Strides ChannelsLast(const Shape& shape);

// Whether both place the same elements at the same positions. Strides of dimensions of size 1 do
// not matter.
bool SameLayout(const Shape& shape, const Strides& a, const Strides& b);

// Whether elements fill a block of memory without gaps or overlap, in some order of the dimensions.
bool IsDense(const Shape& shape, const Strides& strides);

// The number of elements from the first to the last, inclusive; 0 for an empty tensor. Strides must
// not be negative.
int64_t SpanOf(const Shape& shape, const Strides& strides);

// Dimensions from the largest stride to the smallest. Those of size 1 keep their row-major place.
std::vector<int> DimOrder(const Shape& shape, const Strides& strides);

// Dense strides for that order of the dimensions.
Strides DenseInOrder(const Shape& shape, const std::vector<int>& order);

// Strides that show the same memory in shape `to`, such that its elements in row-major order are
// those of `from` in row-major order; nullopt if no strides do.
std::optional<Strides> ReshapedView(const Shape& from, const Strides& strides, const Shape& to);

// The step between rows if the elements, in the order of memory, are rows of `columns` elements
// without gaps, evenly spaced; nullopt otherwise.
std::optional<int64_t> RowStepOf(const Shape& shape, const Strides& strides, int64_t columns);

// "row-major", "channels-last", or the strides.
std::string LayoutName(const Shape& shape, const Strides& strides);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_LAYOUT_H_
