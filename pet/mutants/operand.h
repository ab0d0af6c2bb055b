// Lists candidates for the operands of an operator mutant (pet/mutants/operator_mutant.h).
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
  std::string how;              // a description of `value`
  std::vector<Regroup> groups;  // the ways to regroup the dimensions of `value`; not empty
};

// The applications of one operator to leaves (inputs, weights, constants) in a part: one
// application, or several whose results another operator joins.
struct Siblings {
  std::vector<NodePtr> applications;
  // Candidates for attributes that are lists: the part's list attributes, and a window's reach
  // minus its padding.
  std::vector<std::vector<int64_t>> lists;
  // Candidates for attributes that are numbers, all above 1: the part's number attributes, sizes of
  // leaves, 2 to 4, and the number of applications.
  std::vector<int64_t> numbers;
};
// The siblings of a part; `applications` is empty if the part has another form.
Siblings SiblingsOf(const Graph& part);

// Candidates for operand number `place`, counted from 0. part.applications must not be empty. The
// candidates are
//   * for one application: its leaf at this place; at places 0 and 1 also a weight or constant in
//     blocks on a diagonal (DiagonalMove); at place 1 also the leaf reversed in one or two
//     dimensions of at most 11 elements;
//   * for several applications: their leaf at this place if they share it, and their leaves
//     concatenated along each dimension; from place 2 on also the sum of their leaves;
//   * if the applications have no operand at this place: constants of ones of rank 4. Their first
//     two sizes are 1 or sizes of the first leaf; their last two sizes are a list in part.lists
//     that consists of two positive numbers.
std::vector<Operand> OperandsAt(const Siblings& part, size_t place);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_OPERAND_H_
