// Finds which sizes of a graph may vary when a mutant of the graph is made again by the same recipe
// (pet/mutants/recipe.h).
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

// The open sizes of a graph's inputs and weights. A size belongs to one dimension, or to two
// dimensions of equal size. Its symbol stands for the size or, if the recipe's layout divides a
// dimension, for the size divided by the divisor. The size is open if
//   * the graph is still well-formed when the size is doubled;
//   * one of its dimensions belongs to the input Recipe::data, or exactly one dimension of the
//     output doubles with it and the others stay;
//   * the recipe's layout needs no padding to divide the dimension; and
//   * the symbol is at least 2 in the given graph.
class OpenSizes {
 public:
  // The open sizes of `original` for the mutant that `recipe` makes. InvalidArgument if there are
  // none. The graph and the recipe must outlive the result.
  static absl::StatusOr<OpenSizes> Of(const Graph& original, const Recipe& recipe);

  size_t count() const { return open_.size(); }  // the number of symbols
  // The value of a symbol in the given graph.
  int64_t value(size_t symbol) const { return open_[symbol].value; }
  // The graph at these values of the symbols, one per symbol. InvalidArgument if it is not
  // well-formed.
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
