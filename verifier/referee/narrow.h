// Narrows a pair of graphs that shows a difference to a smaller one. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_NARROW_H_
#define LEMMA_VERIFIER_REFEREE_NARROW_H_

#include <optional>

#include "verifier/referee/referee.h"

namespace lemma::referee {

// A smaller pair than `pair`, which FindRefutation found (difference.h). Its outputs are a value u
// inside of pair.before and a value w inside of pair.after. On pair.inputs, u and w differ by more
// than kFarBeyond times what rounding explains, and the outputs of pair.before and pair.after agree
// if u takes the place of w. Executions show this; nothing is proved. In the result, before_value
// is u, after_value is w, and the labels are empty. nullopt if no such pair is found among the
// first 200 pairs of values and before the deadline.
std::optional<DifferentPair> Narrowed(const DifferentPair& pair, const RefereeOptions& options);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_NARROW_H_
