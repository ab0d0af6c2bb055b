// A judge of claims that knows nothing of proofs: it runs both sides, as graphs, at many sizes and
// on many inputs.
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
  // Sees to it that each instance is one that the rule's proof covers, and holds it to the rule's
  // float contract. Otherwise any instance counts for which both sides are well-formed, and only
  // that both give the same real numbers.
  bool as_proved = true;
};

struct Judgement {
  int instances = 0;    // that were run
  int comparisons = 0;  // inputs on which both sides were compared
  int typed = 0;        // of these as typed: bit by bit, or rounded and with NaN
  int64_t largest_size = 0;
  // How the sides differ, where and on which inputs; nullopt if they were not seen to.
  std::optional<std::string> difference;
};

// What is compared, by contract:
//   * every contract: shapes, and elements as real numbers, in double by two evaluators and, of
//     what is rational, in the field of 2^61 - 1 elements. Elements that are infinite or not a
//     number on either side say nothing: what has no value as a real number is not claimed. Nor
//     do elements, other than their shapes, of claims with a jump (floor, a comparison, integers)
//     beside a function like exp or tanh: doubles cannot tell on which side of it they are.
//   * reassociates: as typed, in f32, that no value crossed a jump, and that NaN in one element
//     that is no weight's gives NaN in the same elements of both sides.
//   * bit_exact: as typed, in each element type that the proof covers, the same bits, of finite,
//     infinite and denormal numbers; any NaN equals any other, and 0 is -0 where numbers are
//     compared (docs/proofs.md).
Judgement Judge(const Substitution& rule, const JudgeOptions& options);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_JUDGE_H_
