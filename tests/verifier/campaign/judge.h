// Judges a rule without any proof: runs both of its sides, as graphs, at many sizes and on many
// inputs. The campaign (docs/reliability.md) judges what the prover has proved.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

struct JudgeOptions {
  int instances = 24;  // limit on the number of instances (sizes and attributes) that are run
  uint64_t seed = 1;
  // If true, uses only instances that the rule's proof covers, and checks the rule's float
  // contract. Otherwise uses any instance for which both sides are well-formed and the rule's
  // precondition is true, and checks only that both sides give the same types and the same real
  // numbers. In both cases, large instances are not run.
  bool as_proved = true;
};

struct Judgment {
  int instances = 0;    // instances that were run
  int comparisons = 0;  // how often both sides were compared on inputs
  // How many of these comparisons were made "as typed" (see Judge). For a reassociates rule, such a
  // comparison may be repeated with a NaN among the inputs. The repetitions count here, but not in
  // `comparisons`.
  int typed = 0;
  int64_t largest_size = 0;  // the largest size of a dimension of an input
  // A message that says at which sizes, on which inputs and how the sides differ; nullopt if no
  // difference was found.
  std::optional<std::string> difference;
};

// Compares both sides of `rule`. A comparison "as typed" rounds each operator's results to their
// types. The float contract of the rule (docs/proofs.md) decides what is compared:
//   * every contract: the types, and the elements as real numbers: in double and, if both sides are
//     rational (GraphRunner::rational), in the field of 2^61 - 1 elements. Elements that are
//     infinite or NaN on either side are ignored, since the rule is about real numbers. Differences
//     in double are ignored too if rounding at a discontinuity (floor, a comparison) may have
//     caused them. Most small graphs are run by two evaluators in double; if the two disagree, this
//     counts as a difference.
//   * reassociates: also as typed, with f32 where the rule leaves the element
//     type open. Elements may differ only by rounding. If one element of an
//     input is NaN, the same elements of both sides must be NaN; weights and
//     constants get no NaN. Elements that are infinite or NaN even without this
//     NaN are ignored.
//   * bit_exact: also as typed, in each element type that the proof covers. Bits must be equal, for
//     finite, infinite and denormal numbers. Any NaN equals any other NaN. 0 equals -0 if a graph
//     has min, max, sign or abs (docs/proofs.md). If a graph has reductions by sum or product, the
//     finite elements of the inputs are multiples of 1/64, so that the order of the terms does not
//     matter; f64 is then left out unless both sides are polynomials (GraphRunner::polynomial).
Judgment Judge(const Substitution& rule, const JudgeOptions& options);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_H_
