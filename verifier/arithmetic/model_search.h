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

  // Whether a model was found: integers for the unknowns at which all of `facts` hold. False means
  // only that the search failed. There must be at least one fact. If one fact is new since the
  // preceding call, put it last: the search starts from the last model and first changes the
  // unknowns of the last fact. Each integer read from a tensor is an unknown of its own. Much
  // cheaper than a solver. The result depends only on the sequence of calls so far.
  bool Find(const Facts& facts);

 private:
  const Leaves& leaves_;
  std::map<Leaf, int64_t> last_;  // the last model found
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_MODEL_SEARCH_H_
