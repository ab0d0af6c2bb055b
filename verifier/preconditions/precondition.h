// Preconditions are found, not typed in: for a rule that is false as it stands, the weakest guard
// of a small language under which it is proved.
//
// The language: conjunctions of comparisons (=, <=, >=) of the rule's integer symbols with each
// other and with small constants, equalities of products of them (k1 * g2 = k2 * g1), and lengths
// and equalities of its lists.
#ifndef LEMMA_VERIFIER_PRECONDITIONS_PRECONDITION_H_
#define LEMMA_VERIFIER_PRECONDITIONS_PRECONDITION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"
#include "verifier/prover/prover.h"

namespace lemma {

struct PreconditionOptions {
  int samples = 240;      // instances drawn, over all forms of the rule
  int max_attempts = 48;  // guards tried on instances
  int max_proofs = 6;     // guards given to the prover
  int max_conjuncts = 6;
  // Steps of all proofs and instances together; then nothing more is found out.
  int64_t work = 2'000'000'000;
};

// What became of a rule. Three cases:
//   proved as it stands: `without` is Proved, `found` is empty;
//   proved under a guard: `without` is Refuted, `with` Proved, `found` the conjuncts;
//   neither: `reason` says why, `with` is absent.
struct Precondition {
  Substitution rule;  // the rule given; `found` is at the end of its `where`
  std::vector<Comparison> found;
  Verdict without = Unknown{};
  std::optional<Verdict> with;
  std::string reason;

  // Whether `rule` may be used.
  bool proved() const { return IsProved(without) || (with && IsProved(*with)); }
  // The verdict on `rule` as it is here.
  const Verdict& verdict() const { return with ? *with : without; }
};

// Proves the rule, or else refines a guard from instances on which its sides agree and differ and
// from the prover's counterexamples, and has it confirmed: proved with all conjuncts, and refuted
// without any one of them.
//
// A guard is no answer if it leaves nothing worth saying: only instances in which a reduction of
// the target that could have several terms has one, or one of its operators that could do something
// copies its operand; or only instances in which more than two sizes, of those that are no
// attributes, are at most some constant.
//
// Deterministic; limited by counts, not by a clock. Interrupted by prover.interrupted: `without` is
// Unknown, or there is no guard, and nothing of it should be kept.
Precondition SynthesizePrecondition(const Substitution& rule, const ProverOptions& prover = {},
                                    const PreconditionOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_VERIFIER_PRECONDITIONS_PRECONDITION_H_
