// Which operators sum products, read off their definitions.
#ifndef LEMMA_PET_MUTANTS_CONTRACTION_H_
#define LEMMA_PET_MUTANTS_CONTRACTION_H_

#include <vector>

#include "graph/graph.h"

namespace lemma::pet {

// Whether the elements are made with +, -, *, / and sums alone.
bool IsAlgebra(const Node& node);
// The same, with at least one sum.
bool IsSum(const Node& node);

// An operator that sums products of its first two operands, of these ranks, and needs no attribute
// to be given.
struct Contraction {
  const OpDef* op = nullptr;
  int ranks[2] = {0, 0};
};
// All of the table with ranks 2 to 4, in its order.
const std::vector<Contraction>& Contractions();

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_CONTRACTION_H_
