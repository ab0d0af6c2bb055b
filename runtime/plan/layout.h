// Physical layouts of values: element strides over logical dimensions.
//
// The graph is always logical; where an element lies in memory is strides alone. Channels-last is
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

// The same elements at the same places: strides of dimensions of size 1 do not matter.
bool SameLayout(const Shape& shape, const Strides& a, const Strides& b);

// Elements fill a block of memory without gaps or overlap, in some order of the dimensions.
bool IsDense(const Shape& shape, const Strides& strides);

// Elements between the first and the last, both included; 0 for an empty tensor. Strides must not
// be negative.
int64_t SpanOf(const Shape& shape, const Strides& strides);

// Dimensions from the slowest to the fastest; those of size 1 keep the place of a row-major order.
std::vector<int> DimOrder(const Shape& shape, const Strides& strides);

// Dense strides with the dimensions in that order.
Strides DenseInOrder(const Shape& shape, const std::vector<int>& order);

// Strides under which the same memory, read in row-major order as `to`, has the elements of `from`
// in row-major order; nullopt if there are none.
std::optional<Strides> ReshapedView(const Shape& from, const Strides& strides, const Shape& to);

// "row-major", "channels-last", or the strides.
std::string LayoutName(const Shape& shape, const Strides& strides);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_LAYOUT_H_
