#include "api/hunting/idioms.h"

#include "api/hunting/idiom_builder.h"

namespace lemma::hunt {

std::optional<Graph> RandomIdiom(uint64_t seed) {
  return seed % 2 == 0 ? RandomArithmeticIdiom(seed) : RandomLayoutIdiom(seed);
}

}  // namespace lemma::hunt
