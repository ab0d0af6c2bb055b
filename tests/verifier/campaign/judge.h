// Judges claims without any proof: runs both sides, as graphs, at many sizes and on many inputs.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

struct JudgeOptions {
  int instances = 24;
  uint64_t seed = 1;
  // If true, only uses instances that the rule's proof covers, and checks the rule's float
  // contract. Otherwise uses any instance for which both sides are well-formed, and only checks
  // that both give the same real numbers.
  bool as_proved = true;
};

struct Judgement {
  int instances = 0;    // instances that were run
  int comparisons = 0;  // inputs on which both sides were compared
  int typed = 0;        // of these, comparisons as typed: bit by bit, or rounded and with NaN
  int64_t largest_size = 0;
  // How the sides differ, where and on which inputs; nullopt if no difference was found.
  std::optional<std::string> difference;
};

// Compares, by contract:
//   * every contract: shapes, and elements as real numbers: in double by two evaluators and, for
//     rational graphs, in the field of 2^61 - 1 elements. Ignores elements that are infinite or NaN
//     on either side: the claim is about real numbers. If a claim has discontinuities (floor, a
//     comparison, integers) beside a function like exp or tanh, only shapes are compared: doubles
//     cannot tell on which side of a discontinuity a value is.
//   * reassociates: as typed, in f32: no value crosses a discontinuity, and NaN in one element of
//     an input that is not a weight gives NaN in the same elements of both sides.
//   * bit_exact: as typed, in each element type that the proof covers: equal bits, for finite,
//     infinite and denormal numbers. Any NaN equals any other, and 0 equals -0 where numbers are
//     compared (docs/proofs.md).
Judgement Judge(const Substitution& rule, const JudgeOptions& options);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_H_
