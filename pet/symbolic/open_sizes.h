// Which sizes of a graph may be any. Internal to pet.
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

// Sizes of a graph's inputs and weights: one symbol for each dimension, or for each two that have
// to be equal, at which the graph is well-formed whatever its value. A dimension that a mutant's
// layout divides is the symbol times what it is divided by; one that it pads is none.
class OpenSizes {
 public:
  // InvalidArgument if there are none. Graph and recipe have to outlive it.
  static absl::StatusOr<OpenSizes> Of(const Graph& original, const Recipe& recipe);

  size_t count() const { return open_.size(); }
  int64_t value(size_t symbol) const { return open_[symbol].value; }  // at hand
  // The graph with these sizes. InvalidArgument if it is not well-formed.
  absl::StatusOr<Graph> At(const Sizes& sizes) const;

 private:
  // A dimension of a leaf.
  struct LeafDim {
    size_t leaf = 0, dim = 0;
  };
  // The dimensions that are `factor` times one size.
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
