// What a mutant's operator may be applied to. Internal to pet.
#ifndef LEMMA_PET_MUTANTS_OPERAND_H_
#define LEMMA_PET_MUTANTS_OPERAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "pet/mutants/regroup.h"

namespace lemma::pet {

struct Operand {
  Value value;
  std::string how;              // in words
  std::vector<Regroup> groups;  // the ways to see it; not empty
};

// A part of one operator over leaves, applied once, or several times and joined.
struct Siblings {
  std::vector<NodePtr> applications;
  // The lists among their attributes, and those taken from what a window reaches; the numbers:
  // attributes, sizes of leaves and digits.
  std::vector<std::vector<int64_t>> lists;
  std::vector<int64_t> numbers;
};
// No applications: the graph is none.
Siblings SiblingsOf(const Graph& part);

// Operand `place` of the applications: one leaf, or theirs one behind the other along each
// dimension, or from the third on added; of one application the second also reversed in one or two
// dimensions, and weights in blocks on a diagonal. Where operators have no such operand: constants
// of ones, whose sizes are two of 1 and the first leaf's and then a list.
std::vector<Operand> OperandsAt(const Siblings& part, size_t place);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_OPERAND_H_
