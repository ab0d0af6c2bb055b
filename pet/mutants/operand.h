// Lists the operands to which an operator mutant may be applied.
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
  std::string how;              // a description
  std::vector<Regroup> groups;  // the ways to regroup its dimensions; not empty
};

// Applications of one operator over leaves: one, or several whose results are joined.
struct Siblings {
  std::vector<NodePtr> applications;
  // Candidates for attributes. Lists: list attributes, and a window's reach less its padding.
  // Numbers: number attributes, sizes of leaves, and digits.
  std::vector<std::vector<int64_t>> lists;
  std::vector<int64_t> numbers;
};
// No applications if the graph has another form.
Siblings SiblingsOf(const Graph& part);

// Candidates for operand `place` (0, 1, …). For one application: its leaf; for the first two
// operands also weights in blocks on a diagonal; for the second operand also the leaf reversed in
// one or two dimensions. For several applications: their leaf if they share it, and their leaves
// concatenated along each dimension or, from the third operand on, added. If the part has no such
// operand: constants of ones. Their shape begins with two numbers, each 1 or a size of the first
// leaf, and ends with one of `lists`.
std::vector<Operand> OperandsAt(const Siblings& part, size_t place);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_OPERAND_H_
