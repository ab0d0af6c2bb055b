// Recipes: descriptions of how a mutant is made from its original, to repeat it at other sizes.
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
  int64_t before = 0, after = 0;
};

// A new layout of the data: padding, then blocks or digits.
struct Layout {
  std::vector<Pad> pads;
  std::vector<BlockMove> blocks;
  std::vector<DigitMove> digits;

  // The factor of the first digit, or the number of blocks.
  int64_t factor() const { return blocks.empty() ? digits[0].factor : blocks[0].blocks; }
  // The moves that undo the layout on the result, last first. Blocks of a result do not overlap.
  std::vector<DigitMove> Back() const;
  std::string ToString() const;
};
// `x` in the new layout.
absl::StatusOr<Value> LaidOut(Value x, const Layout& layout);
// The shape after the layout; empty if something does not divide.
Shape ShapeAfter(Shape shape, const Layout& layout);
// Adds padding at the end that makes dimension `dim` of the padded `shape` a multiple of f.
void RoundUp(const Shape& shape, int dim, int64_t f, std::vector<Pad>* pads);

// Changes of attributes that are lists of numbers: strides, dilations, pads.
struct AttrChange {
  unsigned divided = 0;  // bit per list: divide by the layout's factor, rounded up
  unsigned zeroed = 0;   // bit per list: set to 0
  unsigned entries = 3;  // entries of each list to change: even ones (1), odd ones (2)
};
Attrs Changed(const Node& node, const AttrChange& change, int64_t factor);

struct Recipe {
  int data = 0;  // the input whose layout changes
  Layout layout;
  AttrChange change;
  bool with_weights = false;  // move weights of the data's rank too, padded at the end
  bool back = true;           // move the result back

  std::string ToString() const;
};

using LeafMap = absl::flat_hash_map<Value, Value>;
// For each leaf of the graph, the value that replaces it.
absl::StatusOr<LeafMap> MovedLeaves(const Graph& original, int data, const Layout& layout,
                                    bool with_weights);
// The output of the graph's operators over other leaves and with changed attributes.
absl::StatusOr<Value> Rebuilt(const Graph& original, const LeafMap& leaves,
                              const AttrChange& change, int64_t factor);
// Moves y back and cuts it, from the start of every dimension, to the type of `wanted`.
absl::StatusOr<Value> MovedBack(Value y, const std::vector<DigitMove>& moves, const Value& wanted);

// The mutant of a graph with one output. InvalidArgument if one of the steps is not well-formed.
absl::StatusOr<Graph> ApplyRecipe(const Graph& original, const Recipe& recipe);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_RECIPE_H_
