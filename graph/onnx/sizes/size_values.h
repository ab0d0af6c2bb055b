// Computes the elements of small tensors that depend on symbolic sizes: the shape arithmetic of a
// model. The computation assumes that sums and products of sizes fit into 64 bits, since no tensor
// is larger. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_SIZES_SIZE_VALUES_H_
#define LEMMA_GRAPH_ONNX_SIZES_SIZE_VALUES_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {

// Evaluates operators' definitions, element by element, with symbolic sizes in place of numbers.
class SizeValues {
 public:
  // `leaf` returns the elements of a value that no operator computes; nullopt if they are unknown.
  explicit SizeValues(std::function<std::optional<Tensor>(const Value&)> leaf)
      : leaf_(std::move(leaf)) {}

  // The elements in row-major order, each as an expression that is right at all sizes. nullopt if
  // no such expression is found, or if the shape is symbolic or has more than 256 elements.
  std::optional<std::vector<IndexExpr>> Of(const Value& value) { return Find(value, 0); }

 private:
  using Elements = std::optional<std::vector<IndexExpr>>;
  Elements Find(const Value& value, int depth);
  Elements Compute(const Value& value, int depth);

  std::function<std::optional<Tensor>(const Value&)> leaf_;
  absl::flat_hash_map<Value, Elements> known_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_SIZES_SIZE_VALUES_H_
