// Finds the operators that sum products, from their definitions.
#ifndef LEMMA_PET_MUTANTS_CONTRACTION_H_
#define LEMMA_PET_MUTANTS_CONTRACTION_H_

#include <vector>

#include "graph/graph.h"

namespace lemma::pet {

// Whether the node's elements are computed with +, -, *, / and sums only.
bool IsAlgebra(const Node& node);
// As IsAlgebra, with at least one sum.
bool IsSum(const Node& node);

// An operator that sums products of its first two operands. All its attributes have defaults.
struct Contraction {
  const OpDef* op = nullptr;
  int ranks[2] = {0, 0};  // of the first two operands
};
// All such operators of the operator table, once per pair of ranks from 2 to 4, in the table's
// order.
const std::vector<Contraction>& Contractions();

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_CONTRACTION_H_
