// Finds the place where two graphs differ, or the few places, if the graphs are proved equal
// everywhere else. Internal to the referee.
//
// A fault in one layer changes every value after it, so no later value can be proved equal. If the
// value of the faulty layer is assumed to be right, all later values are right again. So pairs of
// values, one of each graph, are tried. If the two values of a pair are assumed to be equal, and
// the graphs are then proved equal, the graphs differ there or nowhere. Such a pair is a *place*.
#ifndef LEMMA_VERIFIER_REFEREE_ISOLATE_H_
#define LEMMA_VERIFIER_REFEREE_ISOLATE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "verifier/referee/other_numbers.h"
#include "verifier/referee/referee.h"
#include "verifier/referee/region.h"
#include "verifier/referee/relate_weights.h"
#include "verifier/referee/sweep.h"

namespace lemma::referee {

// Two graphs, the result of a sweep of both, and a function that repeats the sweep with a changed
// second graph.
struct SweptGraphs {
  const Graph& before;
  // The second graph. Each weight that is explained by weights of `before` is replaced by the
  // formula that computes it from them (relate_weights.h).
  const Graph& after;
  const SweepResult& swept;  // may be empty for FindWrongWeights and FindWrongNumber
  // May be empty for FindPlaces.
  std::function<SweepResult(const Graph& after)> sweep;
  const RefereeOptions& options;
};

// A place. FindPlaces returns the first of several places; the graphs may differ at each of these
// places, but nowhere else.
struct OnlyPlace {
  Value before, after;  // a value of each graph
  Region region;        // computes both values from values that are proved equal
  std::string reason;   // why the region is not proved
  // The difference of the region's sides on options.samples[sample], if the graphs are shown to
  // differ there; otherwise nullopt. The functions below say when it is set.
  std::optional<DifferentPair> difference;
  size_t sample = 0;
};

// Tries some pairs of values, until the deadline. Returns the first pair that is the only place and
// has a difference; if there is none, the first pair that is the only place; otherwise nullopt.
// OnlyPlace::difference is set if, on a sample,
//   * the two sides of the region, computed by definition in double on values of the first graph,
//     differ by more than rounding explains (measure.h); and
//   * in double, putting the first graph's value at the place changes the
//     outputs of the second graph by more than four times as much as other
//     roundings (evidence/other_roundings.h) do. These roundings change all
//     weights and constants in the region and, elsewhere in both graphs, those
//     of a single element.
std::optional<OnlyPlace> FindOnlyPlace(const SweptGraphs& graphs);

// The place graphs.swept.assumed[0], if the graphs are proved equal except at
// the places in graphs.swept.assumed; otherwise nullopt. nullopt too if a
// region is too large or the deadline passes. OnlyPlace::difference is set if,
// on one sample, two conditions hold. First, the two sides of every place's
// region differ by more than rounding explains, as for FindOnlyPlace. Second,
// in double, the outputs of the two graphs differ by more than four times as
// much as other roundings change them. These roundings change the weights and
// constants in all these regions and, elsewhere in both graphs, those of a
// single element. So places whose effects cancel each other are not taken for
// faults.
std::optional<OnlyPlace> FindPlaces(const SweptGraphs& graphs);

// Finds the place where weights with strange elements first matter. Strange
// elements differ from their formula by more than counts as rounding
// (UnrelatedWeight::elements). The function replaces each of `weights` by the
// formula to which it is near (UnrelatedWeight::nearest). nullopt unless the
// graphs are then proved equal. The place is the first value of the second
// graph that depends on the weights, is not constant itself, and is proved
// equal to a value of the first graph if the weights are replaced; nullopt if
// there is no such value. OnlyPlace::difference is set if three conditions
// hold: all weights are f32; an element is more than 4 times as far off as
// rounding explains (UnrelatedWeight::farthest); and on a sample, in double,
// replacing the weights changes the outputs by more than four times as much as
// another rounding of the strange elements does. The difference at the place
// itself may be smaller than rounding explains.
std::optional<OnlyPlace> FindWrongWeights(const SweptGraphs& graphs,
                                          const std::vector<UnrelatedWeight>& weights);

// The same for a wrong number in attributes: replaces number.value by number.expected in the nodes
// number.users. The place is the first value, as above, that depends on these nodes.
// OnlyPlace::difference is set if replacing the number changes the outputs by more than four times
// as much as another rounding of the number does.
std::optional<OnlyPlace> FindWrongNumber(const SweptGraphs& graphs, const ChangedNumber& number);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_ISOLATE_H_
