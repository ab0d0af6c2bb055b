// Finds numbers in attributes that only the second graph has. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_OTHER_NUMBERS_H_
#define LEMMA_VERIFIER_REFEREE_OTHER_NUMBERS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"
#include "verifier/referee/evidence/rewire.h"

namespace lemma::referee {

// A number that an attribute of an operator has in `after`, but in no application of this operator
// in `before`.
struct ChangedNumber {
  std::string attr;
  double value = 0;
  double expected = 0;                     // a number that this attribute has in `before`
  absl::flat_hash_set<const Node*> users;  // the nodes of `after` with this number
};

// All such numbers in attributes that both graphs have. `expected` is the nearest number that the
// attribute has in `before` but not in `after`; if there is none, the nearest number in `before`.
// A number that differs from `expected` by at most kMostRelative (evidence/weight_comparison.h)
// times `expected` is left out, because a tool may have computed it.
std::vector<ChangedNumber> OtherNumbers(const Graph& before, const Graph& after);

// Puts `number` in the place of other.value in the nodes other.users. Returns,
// for each value of `after`, the value that then takes its place.
ValueMap WithNumber(const Graph& after, const ChangedNumber& other, double number);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_OTHER_NUMBERS_H_
