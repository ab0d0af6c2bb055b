// Finds which sizes of a graph may vary.
#ifndef LEMMA_PET_SYMBOLIC_OPEN_SIZES_H_
#define LEMMA_PET_SYMBOLIC_OPEN_SIZES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "pet/mutants/recipe.h"
#include "pet/symbolic/size_formula.h"

namespace lemma::pet {

// The open sizes of a graph's inputs and weights: one symbol for each dimension that may have any
// value, or for each two dimensions that may have any common value. If a mutant's layout divides a
// dimension, the dimension is the symbol times the divisor. A dimension that it pads is not open.
class OpenSizes {
 public:
  // InvalidArgument if there are none. The graph and the recipe must outlive it.
  static absl::StatusOr<OpenSizes> Of(const Graph& original, const Recipe& recipe);

  size_t count() const { return open_.size(); }
  int64_t value(size_t symbol) const { return open_[symbol].value; }  // in the given graph
  // The graph with these sizes. InvalidArgument if it is not well-formed.
  absl::StatusOr<Graph> At(const Sizes& sizes) const;

 private:
  // One dimension of a leaf.
  struct LeafDim {
    size_t leaf = 0, dim = 0;
  };
  // Dimensions that equal `factor` times one size.
  struct OpenSize {
    std::vector<LeafDim> dims;
    int64_t factor = 1;
    int64_t value = 1;
  };

  OpenSizes(const Graph& original, const Recipe& recipe);

  std::vector<Shape> ShapesOf() const;
  const Value& Data() const { return original_.inputs()[static_cast<size_t>(recipe_.data)]; }
  absl::StatusOr<Graph> Resized(const std::vector<Shape>& shapes) const;
  bool MayDouble(const std::vector<LeafDim>& dims) const;
  int64_t FactorOf(const std::vector<LeafDim>& dims) const;
  void Find();

  const Graph& original_;
  const Recipe& recipe_;
  std::vector<Value> leaves_;
  std::vector<OpenSize> open_;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_SYMBOLIC_OPEN_SIZES_H_
