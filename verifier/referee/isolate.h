// Finds the one place where two graphs differ, if all the rest is proved equal. Internal to the
// referee.
//
// A fault in one layer changes every value after it, so no later value can be proved equal. If the
// value of the faulty layer is assumed to be right, all later values are right again. So pairs of
// values are tried: if the graphs are proved equal under the assumption that the values of a pair
// are equal, the graphs differ in this pair or nowhere.
#ifndef LEMMA_VERIFIER_REFEREE_ISOLATE_H_
#define LEMMA_VERIFIER_REFEREE_ISOLATE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "verifier/referee/referee.h"
#include "verifier/referee/region.h"
#include "verifier/referee/relate_weights.h"
#include "verifier/referee/sweep.h"

namespace lemma::referee {

// Two graphs, how far a sweep of both came, and how to sweep them again with a changed second
// graph.
struct SweptGraphs {
  const Graph& before;
  const Graph& after;  // its explained weights are replaced by their formulas
  const SweepResult& swept;
  std::function<SweepResult(const Graph& after)> sweep;
  const RefereeOptions& options;
};

// The only place where the graphs may differ.
struct OnlyPlace {
  Value before, after;  // a value of each graph; the rest is proved equal if these are
  Region region;        // computes both from values that are proved equal
  std::string reason;   // why the region is not proved
  // The region on options.samples[sample], if it is shown that the graphs differ there; otherwise
  // nullopt. Each function says when it is set.
  std::optional<DifferentPair> difference;
  size_t sample = 0;
};

// nullopt if no pair is found before the deadline. OnlyPlace::difference is set if, on a sample,
// the two sides of the region, computed by definition in double on values of the first graph,
// differ by more than rounding explains (measure.h), and the outputs of the whole graphs differ in
// double too.
std::optional<OnlyPlace> FindOnlyPlace(const SweptGraphs& graphs);

// The same for weights that no f32 evaluation gives. Replaces each weight by the formula to which
// it is near (UnrelatedWeight::nearest); nullopt unless the graphs are then proved equal. The place
// is the first value that depends on the weights and is proved equal with the formulas.
// OnlyPlace::difference is set if, in double, the outputs differ by much more than another rounding
// of the strange elements (UnrelatedWeight::elements) explains. The difference at the place itself
// may be smaller than rounding explains.
std::optional<OnlyPlace> FindWrongWeights(const SweptGraphs& graphs,
                                          const std::vector<UnrelatedWeight>& weights);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_ISOLATE_H_
