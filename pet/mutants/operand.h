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

// The applications of one operator over leaves in a part: one application, or several applications
// whose results another operator joins.
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

// Candidates for operand number `place`, from 0. `part` must have applications. The candidates are
//   * for one application: its leaf at this place; at places 0 and 1 also the leaf, if it is no
//     input, in blocks on a diagonal (DiagonalMove); at place 1 also the leaf reversed in one or
//     two short dimensions;
//   * for several applications: their leaf if they share it, and their leaves concatenated along
//     each dimension; from place 2 on also the sum of their leaves;
//   * if the applications have no operand at this place: constants of ones of rank 4. The first two
//     sizes are each 1 or a size of the first leaf, and the last two are a list of two positive
//     numbers in `lists`.
std::vector<Operand> OperandsAt(const Siblings& part, size_t place);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_OPERAND_H_
