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

// Two values that could not be proved equal, or were found to differ (SweepLimits::differs). They
// were compared because their sketches are alike (values.h) or, with SweepLimits::assume, because
// they have the same name. Pairs that were not compared before the time was up are open, too.
struct OpenPair {
  Value before, after;  // values of the graphs given to Sweep
  // The number of operators in a region that was tried; 0 if every region was
  // too large, or if none was tried in time.
  int operators = 0;
  std::string reason;
};

// A pair of values that differ (SweepLimits::differs), but that the sweep assumed to be equal. The
// pair is in SweepResult::unproved, too.
struct Assumed {
  Value before, after;  // values of the graphs given to Sweep
  // The result of the operator that computes `after`, applied to the values that replaced its
  // operands.
  Value now;
};

struct SweepResult {
  std::vector<ProvedRegion> regions;
  std::vector<bool> covered;       // by output: whether it is proved equal
  std::vector<OpenPair> unproved;  // operands first
  std::vector<Assumed> assumed;    // operands first
  // For each value of `after`, the value that takes its place. This is the value of `before` or of
  // `derived` to which it was proved equal (or, with SweepLimits::assume, assumed to be equal). If
  // there is none, it is the result of the same operator, applied to the values that took the
  // places of the operands.
  absl::flat_hash_map<Value, Value> moved;
  absl::flat_hash_map<Value, Value> by_rebuilt_value;  // as RefereeResult::by_rebuilt_value
  bool timed_out = false;
  std::vector<std::pair<Value, Value>> equal;  // as RefereeResult::equal, for values of `after`

  // Whether all outputs are proved equal.
  bool AllCovered() const;
  // Whether the time was up before all outputs were proved equal. Then `unproved` has the pairs
  // that were not tried, too.
  bool EndedEarly() const { return timed_out && !AllCovered(); }
};

// Limits of a sweep: which proofs it tries, and when it gives up.
struct SweepLimits {
  int64_t work = 0;  // most steps of the proof of one region (ProverOptions::work)
  int failures = 0;  // after this many pairs without a proof, only outputs are tried
  // Tells whether the sides of a region differ, on values that the graphs compute, by more than
  // rounding explains; if `at_all`, by more than rounding in double. Called if the first proof of a
  // pair failed, or if the pair depends on a pair that differs. If the result is true, no further
  // proof of the pair is tried. May be empty.
  std::function<bool(const Region&, bool at_all)> differs;
  // Nodes of `after` whose values are not compared: parts of formulas that explain weights.
  absl::flat_hash_set<const Node*> parts;
  // Whether to go on with assumptions (SweepResult::assumed). The candidates for a value of `after`
  // are values of `before` and `derived` whose sketches are alike. If none is proved equal to the
  // value, the first one that differs from it (as `differs` says) replaces it. All later proofs
  // depend on these assumptions. A value of the same name is a candidate even if its sketch is not
  // alike, because the effects of assumed places add up. Needs `differs`.
  bool assume = false;
  // Called with two numbers of nodes of `after`: those visited so far, and all.
  // May be empty.
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
