// Sizes that operators of a model want to be longer than all ranges of dimensions allow to assume.
// Internal to graph/onnx.
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
  bool is_error = false;  // whether the operator is an error at shorter sizes
  std::string node;       // describes the operator
};

// The dimension in asked.size, and its least length from which on asked.size is at least
// asked.least. nullopt unless asked.size has exactly one dimension, which is not a result size
// (graph/sizes/symbolic_size.h), and some length up to 2^16 in the dimension's range is enough.
std::optional<std::pair<std::string, int64_t>> LeastLength(const AskedSize& asked);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_SIZES_ASKED_SIZE_H_
