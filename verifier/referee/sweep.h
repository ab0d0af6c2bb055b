// Proves two graphs equal region by region. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_SWEEP_H_
#define LEMMA_VERIFIER_REFEREE_SWEEP_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "verifier/referee/referee.h"
#include "verifier/referee/region.h"
#include "verifier/referee/values.h"

namespace lemma::referee {

// A pair of values whose sketches are alike (values.h), but that could not be proved equal or was
// found to differ (SweepLimits::differs).
struct Unproved {
  Value before, after;  // values of the graphs given to Sweep
  int operators = 0;    // of a region that was tried; 0: every region was too large
  std::string reason;
};

// A pair of values whose sketches are alike, but that differ (SweepLimits::differs) and were taken
// to be equal. It is in SweepResult::unproved, too.
struct Assumed {
  Value before, after;  // values of the graphs given to Sweep
  Value now;            // `after`, computed from values that replaced its operands
};

struct SweepResult {
  std::vector<ProvedRegion> regions;
  std::vector<bool> covered;       // by output: whether it is proved equal
  std::vector<Unproved> unproved;  // operands first
  std::vector<Assumed> assumed;    // operands first
  // By value of `after`: the value of `before` or of `derived` that it was proved or, with
  // SweepLimits::assume, taken to be equal to; otherwise the result of its operator applied to the
  // values that replace its operands.
  absl::flat_hash_map<Value, Value> moved;
  absl::flat_hash_map<Value, Value> over_equals;  // as RefereeResult::over_equals
  bool timed_out = false;
  std::vector<std::pair<Value, Value>> equal;  // as RefereeResult::equal, for values of `after`

  // Whether all outputs are proved equal.
  bool AllCovered() const;
};

// What a sweep tries, and when it gives up.
struct SweepLimits {
  int64_t work = 0;  // most steps of the proof of one region (ProverOptions::work)
  int failures = 0;  // most pairs of values without a proof; outputs are tried in any case
  // Whether the sides of a region differ, on values that the graphs compute, by more than rounding
  // explains; if `at_all`, by more than rounding in double. Asked after a first proof of a pair
  // failed, or if the pair depends on one that differs. If true, no further proof of the pair is
  // tried. May be empty.
  std::function<bool(const Region&, bool at_all)> differs;
  // Nodes of `after` whose values are not compared: parts of formulas that explain weights.
  absl::flat_hash_set<const Node*> parts;
  // If no candidate is proved equal to a value, whether the value is replaced by the first
  // candidate from which it differs, as `differs` says. Then the graphs are proved equal under
  // assumptions (SweepResult::assumed). Needs `differs`.
  bool assume = false;
  // Called with the number of nodes of `after` that were visited, and of all. May be empty.
  std::function<void(int64_t done, int64_t all)> progress;
};

// Visits the values of `after`, operands first. A value is replaced by a value of `before` if both
// agree on random inputs (`in_before`, `in_after`) and are then proved equal, given the values that
// were replaced before. A value that cannot be proved equal stays and becomes a part of later
// regions. `derived`: further values, computed from values of `before`, that may replace a value of
// `after`. `in_before` must have the sketches of `derived` too.
SweepResult Sweep(const Graph& before, const Graph& after, const std::vector<Value>& derived,
                  const Sketches& in_before, const Sketches& in_after, RegionProver* prover,
                  const SweepLimits& limits, const Deadline& deadline);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_SWEEP_H_
