// Values of small integer tensors that are computed from symbolic sizes: the shape arithmetic of a
// model. Sums and products of sizes are taken not to exceed 64 bits: no tensor is that large.
// Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_SIZES_SIZE_VALUES_H_
#define LEMMA_GRAPH_ONNX_SIZES_SIZE_VALUES_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {

// Evaluates operators' definitions, element by element, over sizes instead of numbers.
class SizeValues {
 public:
  // `leaf`: the elements of a value that no operator computes, if they are known.
  explicit SizeValues(std::function<std::optional<Tensor>(const Value&)> leaf)
      : leaf_(std::move(leaf)) {}

  // The elements in row-major order. nullopt if an element is not an expression over sizes, or is a
  // different expression at different sizes.
  std::optional<std::vector<IndexExpr>> Of(const Value& value) { return Find(value, 0); }

 private:
  using Elements = std::optional<std::vector<IndexExpr>>;
  Elements Find(const Value& value, int depth);
  Elements Compute(const Value& value, int depth);

  const std::function<std::optional<Tensor>(const Value&)> leaf_;
  absl::flat_hash_map<Value, Elements> known_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_SIZES_SIZE_VALUES_H_
