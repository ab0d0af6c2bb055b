// Small integers at which facts hold. Internal to the prover.
#ifndef LEMMA_VERIFIER_ARITHMETIC_MODEL_SEARCH_H_
#define LEMMA_VERIFIER_ARITHMETIC_MODEL_SEARCH_H_

#include <cstdint>
#include <map>

#include "verifier/arithmetic/fact.h"

namespace lemma::prover {

class ModelSearch {
 public:
  explicit ModelSearch(const Leaves& leaves) : leaves_(leaves) {}

  // True if integers were found at which all of `facts` hold, so that they do not contradict each
  // other; false says nothing. The last fact is the one that others of the same context were asked
  // without. Integers that tensors hold are taken as independent. Cheap next to a solver; depends
  // on what was asked before, in that order, and on nothing else.
  bool Find(const Facts& facts);

 private:
  const Leaves& leaves_;
  std::map<Leaf, int64_t> last_;  // the last model found
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_MODEL_SEARCH_H_
