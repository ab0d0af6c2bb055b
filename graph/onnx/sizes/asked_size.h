// Describes symbolic sizes that may be too short for the import of an operator. Internal to
// graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_SIZES_ASKED_SIZE_H_
#define LEMMA_GRAPH_ONNX_SIZES_ASKED_SIZE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace lemma {

// An operator could be imported if `size`, which is symbolic, were at least `least`.
struct AskedSize {
  int64_t size = 0;
  int64_t least = 0;
  bool is_error = false;  // whether the operator is invalid at shorter sizes
  std::string node;       // describes the operator
};

// The name of the only dimension in asked.size, and the smallest length in the dimension's range
// with this property: if the dimension has at least this length, asked.size is known to be at least
// asked.least. nullopt if asked.size has no or several dimensions, if its dimension is a result
// size (graph/sizes/symbolic_size.h), or if this length would exceed 2^16 or the dimension's range.
std::optional<std::pair<std::string, int64_t>> LeastLength(const AskedSize& asked);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_SIZES_ASKED_SIZE_H_
