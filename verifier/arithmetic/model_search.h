// Searches for small integers at which facts hold. Internal to the prover.
#ifndef LEMMA_VERIFIER_ARITHMETIC_MODEL_SEARCH_H_
#define LEMMA_VERIFIER_ARITHMETIC_MODEL_SEARCH_H_

#include <cstdint>
#include <map>

#include "verifier/arithmetic/fact.h"

namespace lemma::prover {

// Remembers the last model that it found. The leaves must outlive the object.
class ModelSearch {
 public:
  explicit ModelSearch(const Leaves& leaves) : leaves_(leaves) {}

  // True if a model was found: integers for the unknowns at which all of `facts` hold. Then the
  // facts do not contradict each other. False means only that no model was found. There must be at
  // least one fact. A fact that the preceding call did not have should be the last: the search
  // starts from the last model and first changes the unknowns of the last fact. Each integer read
  // from a tensor is an unknown of its own. Much cheaper than a solver. The result depends only on
  // the sequence of calls so far.
  bool Find(const Facts& facts);

 private:
  const Leaves& leaves_;
  std::map<Leaf, int64_t> last_;  // the last model found
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_MODEL_SEARCH_H_
