// Finds the operators that sum products, from their definitions.
#ifndef LEMMA_PET_MUTANTS_CONTRACTION_H_
#define LEMMA_PET_MUTANTS_CONTRACTION_H_

#include <vector>

#include "graph/graph.h"

namespace lemma::pet {

// Whether the node's elements are computed with +, -, *, / and sums only.
bool IsAlgebra(const Node& node);
// Whether IsAlgebra holds and the elements contain at least one sum.
bool IsSum(const Node& node);

// An operator that sums products of its first two operands. All its attributes have defaults.
struct Contraction {
  const OpDef* op = nullptr;
  int ranks[2] = {0, 0};  // of the first two operands
};
// All such operators, in the order of the operator table. An operator is listed once for each pair
// of ranks from 2 to 4 that it accepts.
const std::vector<Contraction>& Contractions();

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_CONTRACTION_H_
