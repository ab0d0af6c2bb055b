// Finds the precondition of a rule that is false without one: a guard of a
// small language under which the rule is proved. Among the guards that it
// tries, the search prefers those that allow the most instances. So the guard
// is weak, but it need not be the weakest.
//
// The language (guard_language.h) has conjunctions of these conditions:
// comparisons (=, <=, >=) of the rule's integer symbols with each other and
// with small constants; equations with sums, doubles and products of symbols
// (k1 * g2 = k2 * g1); divisibility of one symbol by another; and conditions on
// the lengths and the equality of the rule's lists.
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
  int samples = 240;      // instances to draw first, over all forms of the rule
  int max_attempts = 48;  // guards to try on instances before one is proved
  int max_proofs = 6;     // guards to give to the prover before one is proved
  // Most conjuncts of a guard when it is formed. The guard may get more later:
  // a conjunct that allows each of its symbols only one value is replaced by
  // these values. For example, x = 2 * y may become x = 0 and y = 0.
  int max_conjuncts = 6;
  // Limit on the steps of all proofs and instances together; the search then ends.
  int64_t work = 2'000'000'000;
};

// The result for a rule. Three cases:
//   proved without a guard: `without` is Proved, `found` is empty;
//   proved under a guard: `without` is Refuted, `with` is Proved, `found` holds the conjuncts;
//   neither: `reason` says why, `with` is absent.
struct Precondition {
  Substitution rule;              // the given rule, with `found` at the end of its `where`
  std::vector<Comparison> found;  // the conjuncts of the guard
  Verdict without = Unknown{};    // on the rule without the guard
  std::optional<Verdict> with;    // on the rule with the guard
  std::string reason;             // "" if the rule is proved

  // Whether `rule` may be used.
  bool proved() const { return IsProved(without) || (with && IsProved(*with)); }
  // The verdict on `rule` with its present `where`.
  const Verdict& verdict() const { return with ? *with : without; }
};

// Proves the rule. If it is false, refines a guard from instances on which the rule's sides agree
// or differ; after the prover has refuted a guard, more instances of this guard are drawn. Then
// confirms the guard: the rule is proved with all conjuncts, and if any single conjunct is left
// out, the rule is false or not proved.
//
// Rejects trivial guards, which allow only special instances. A guard is trivial if
//   * under it, a reduction of the target always has one term, or an operator
//     of the target always copies its operand, although the rule has instances
//     in which this is not so; or
//   * it bounds more than two sizes by constants (attributes do not count).
//
// Deterministic; limited by counts, not by a clock. If prover.interrupted ends the search,
// `without` is Unknown or there is no guard; discard such a result.
Precondition SynthesizePrecondition(const Substitution& rule, const ProverOptions& prover = {},
                                    const PreconditionOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_VERIFIER_PRECONDITIONS_PRECONDITION_H_
