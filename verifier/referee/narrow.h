// Narrows a pair of graphs that shows a difference to a smaller one. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_NARROW_H_
#define LEMMA_VERIFIER_REFEREE_NARROW_H_

#include <optional>

#include "verifier/referee/referee.h"

namespace lemma::referee {

// A smaller pair than `pair`, which FindRefutation found (difference.h): two values inside of its
// graphs that differ by more than kFarBeyond times what rounding explains, such that the whole pair
// agrees if the first one takes the place of the second one. Both are results of execution, on
// pair.inputs; nothing is proved. Its values and labels are left empty: `before_value` and
// `after_value` are values of the graphs of `pair`. nullopt if there is no such pair, or the
// deadline passes.
std::optional<DifferentPair> Narrowed(const DifferentPair& pair, const RefereeOptions& options);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_NARROW_H_
