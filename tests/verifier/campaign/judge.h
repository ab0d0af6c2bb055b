// Judges claims without any proof: runs both sides of a rule, as graphs, at many sizes and on many
// inputs.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

struct JudgeOptions {
  int instances = 24;  // at most this many are run
  uint64_t seed = 1;
  // If true, uses only instances that the rule's proof covers, and checks the rule's float
  // contract. Otherwise uses any instance for which both sides are well-formed, and checks only
  // that both sides give the same real numbers.
  bool as_proved = true;
};

struct Judgement {
  int instances = 0;    // instances that were run
  int comparisons = 0;  // inputs on which both sides were compared
  // Comparisons as typed: bit by bit, or with results rounded to f32. The latter are repeated with
  // a NaN among the inputs; the repetitions count here only.
  int typed = 0;
  int64_t largest_size = 0;  // of a dimension of an input
  // At which sizes, on which inputs and how the sides differ; nullopt if no difference was found.
  std::optional<std::string> difference;
};

// Compares, by contract:
//   * every contract: types, and elements as real numbers: in double by two evaluators and, for
//     rational graphs, in the field of 2^61 - 1 elements. Ignores elements that are infinite or NaN
//     on either side: the claim is about real numbers. If a claim has discontinuities (floor, a
//     comparison, integers) beside a function like exp or tanh, elements that differ in double are
//     ignored too: doubles cannot tell on which side of a discontinuity a value is.
//   * reassociates: also as typed, in f32: elements differ only by rounding, so no value crosses a
//     discontinuity; and NaN in one element of an input that is not a weight gives NaN in the same
//     elements of both sides.
//   * bit_exact: also as typed, in each element type that the proof covers: equal bits, for finite,
//     infinite and denormal numbers. Any NaN equals any other NaN. 0 equals -0 if a graph has min,
//     max, sign or abs (docs/proofs.md).
Judgement Judge(const Substitution& rule, const JudgeOptions& options);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_H_
