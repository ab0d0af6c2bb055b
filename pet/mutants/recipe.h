// How a mutant is made of its original: what can be repeated at other sizes.
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

// How data are laid out: padding, then blocks or digits.
struct Layout {
  std::vector<Pad> pads;
  std::vector<BlockMove> blocks;
  std::vector<DigitMove> digits;

  int64_t factor() const { return blocks.empty() ? digits[0].factor : blocks[0].blocks; }
  // The moves back, on the result: the last first. Blocks of a result do not overlap.
  std::vector<DigitMove> Back() const;
  std::string ToString() const;
};
absl::StatusOr<Value> LaidOut(Value x, const Layout& layout);
// The shape of that; empty if something does not divide.
Shape ShapeAfter(Shape shape, const Layout& layout);
// Adds padding at the end that makes dimension `dim` of a shape, padded already, a multiple of f.
void RoundUp(const Shape& shape, int dim, int64_t f, std::vector<Pad>* pads);

// What happens to attributes that are lists of numbers: strides, dilations, pads.
struct AttrChange {
  unsigned divided = 0;  // by list: which are divided by the layout's factor, rounded up
  unsigned zeroed = 0;   // by list: which become 0
  unsigned entries = 3;  // of every list: even ones (1), odd ones (2)
};
Attrs Changed(const Node& node, const AttrChange& change, int64_t factor);

struct Recipe {
  int data = 0;  // the input that is laid out anew
  Layout layout;
  AttrChange change;
  bool with_weights = false;  // weights of the data's rank move too, padded at the end to multiples
  bool back = true;           // the result is moved back

  std::string ToString() const;
};

using LeafMap = absl::flat_hash_map<Value, Value>;
// What the leaves of a graph become.
absl::StatusOr<LeafMap> MovedLeaves(const Graph& original, int data, const Layout& layout,
                                    bool with_weights);
// The operators of a graph over other leaves, attributes changed.
absl::StatusOr<Value> Rebuilt(const Graph& original, const LeafMap& leaves,
                              const AttrChange& change, int64_t factor);
// Moved back and cut, from the start of every dimension, to the type of `wanted`.
absl::StatusOr<Value> MovedBack(Value y, const std::vector<DigitMove>& moves, const Value& wanted);

// The mutant of a graph with one output. InvalidArgument if one of the steps is not well-formed.
absl::StatusOr<Graph> ApplyRecipe(const Graph& original, const Recipe& recipe);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_RECIPE_H_
