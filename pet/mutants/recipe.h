// Recipes: a recipe describes how a mutant is made from its original, so that the mutant can be
// made again at other sizes.
#ifndef LEMMA_PET_MUTANTS_RECIPE_H_
#define LEMMA_PET_MUTANTS_RECIPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "pet/mutants/layout_move.h"

namespace lemma::pet {

struct Pad {
  int dim = 0;
  int64_t before = 0, after = 0;  // zeros at the start and at the end of the dimension
};

// A new layout of a tensor: padding, then blocks or digits. At least one block or digit moves.
struct Layout {
  std::vector<Pad> pads;
  std::vector<BlockMove> blocks;
  std::vector<DigitMove> digits;

  // The factor of the first digit, or the number of blocks.
  int64_t factor() const { return blocks.empty() ? digits[0].factor : blocks[0].blocks; }
  // The moves that undo the layout on a result, in the order in which to apply them. They assume
  // that blocks of a result do not overlap, and leave padding as it is.
  std::vector<DigitMove> Back() const;
  std::string ToString() const;
};
// `x` in the new layout. InvalidArgument if a dimension cannot be divided as the layout needs.
absl::StatusOr<Value> LaidOut(Value x, const Layout& layout);
// The shape after the layout; empty if a dimension cannot be divided as the layout needs.
Shape ShapeAfter(Shape shape, const Layout& layout);
// If the size of dimension `dim` of `shape`, plus its padding in *pads, is not a multiple of f,
// adds the missing padding, at the end of the dimension, to *pads.
void RoundUp(const Shape& shape, int dim, int64_t f, std::vector<Pad>* pads);

// Changes of attributes that are lists of numbers: strides, dilations, pads. Bit i of `divided` and
// `zeroed` stands for the i-th list attribute of each operator.
struct AttrChange {
  unsigned divided = 0;  // lists to divide by the layout's factor, rounded up
  unsigned zeroed = 0;   // lists to set to 0
  unsigned entries = 3;  // which entries change: bit 0, those at even indices; bit 1, at odd ones
};
// The node's attributes after the change; `factor` is the layout's factor.
Attrs Changed(const Node& node, const AttrChange& change, int64_t factor);

struct Recipe {
  int data = 0;  // number of the input whose layout changes
  Layout layout;
  AttrChange change;
  // Whether weights of the data's rank get the same digit moves, after padding at the end where a
  // factor does not divide a size.
  bool with_weights = false;
  bool back = true;  // whether the result is moved back

  std::string ToString() const;
};

using LeafMap = absl::flat_hash_map<Value, Value>;
// For each leaf of the graph, the value that replaces it (for an unchanged leaf, the leaf itself).
// `data` and `with_weights` are as in Recipe.
absl::StatusOr<LeafMap> MovedLeaves(const Graph& original, int data, const Layout& layout,
                                    bool with_weights);
// The graph's output if its operators are applied to `leaves`, with the attributes that Changed
// gives. `leaves` must have an entry for each leaf.
absl::StatusOr<Value> Rebuilt(const Graph& original, const LeafMap& leaves,
                              const AttrChange& change, int64_t factor);
// Applies `moves` to y, then keeps the first positions of each dimension, so that the result has
// the shape of `wanted`. InvalidArgument if this is impossible or the element types differ.
absl::StatusOr<Value> MovedBack(Value y, const std::vector<DigitMove>& moves, const Value& wanted);

// The mutant of a graph with one output. InvalidArgument if one of the steps is not well-formed.
absl::StatusOr<Graph> ApplyRecipe(const Graph& original, const Recipe& recipe);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_RECIPE_H_
