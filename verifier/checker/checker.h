// The small checker repeats the prover's claims at small sizes with independent code. CheckRule is
// in check_rule.cc, ReplayProof in replay.cc.
//
// It shares with the prover only what states a claim: the rule's text form and terms (rewrite/) and
// the operators' definitions (graph/). It uses no Z3, no normalization and no search.
#ifndef LEMMA_VERIFIER_CHECKER_CHECKER_H_
#define LEMMA_VERIFIER_CHECKER_CHECKER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "rewrite/rules/substitution.h"

namespace lemma::checker {

// The instances that are checked, the smallest first, until the work limit is reached.
struct Bounds {
  // Sizes range from 1 to max_size, other integers over small values around 0. Both ranges are
  // extended if that is little work.
  int64_t max_size = 3;
  int max_list = 3;        // elements of a list of unknown length
  int64_t work = 400'000;  // limit per rule: terms touched, the same count on every machine
};

struct Checked {
  enum class Answer {
    kEqual,      // on every instance checked, at least one
    kDiffers,    // on the instance that `detail` names
    kUndecided,  // neither: no instance has elements; or, on the instance that `detail` names, the
                 // polynomials differ but no point shows it, a coefficient overflows, or a sum
                 // contains an infinity
  };
  Answer answer = Answer::kUndecided;
  int64_t equal = 0;        // instances whose outputs have identical polynomials in all elements
  int64_t undecided = 0;    // instances that are neither equal nor different: see kUndecided
  bool exhaustive = false;  // all instances within the bounds were checked
  std::string coverage;     // for people
  std::string detail;
};

// Evaluates both sides for all values of the rule's symbols within the bounds for which both sides
// are well-formed and the precondition holds. All elements of inputs are indeterminates (variables
// of polynomials); but if one serves as an index, integer inputs hold small numbers. Each element
// of an output is a polynomial with rational coefficients in these and in atoms that stand for
// nonlinear functions. Polynomials are compared term by term, under the laws of the rule's float
// contract (docs/proofs.md). Deterministic.
Checked CheckRule(const Substitution& rule, const Bounds& bounds = {});

// The result of ReplayProof.
struct Replayed {
  bool accepted = false;
  std::string problem;    // the line and step that failed; "" if accepted
  int64_t steps = 0;      // steps in the file
  int64_t checks = 0;     // evaluations of a step at concrete sizes
  int64_t undecided = 0;  // instances and elements without a value to compare: see Checked
  // Forms to which no instance belongs, plus outputs in cases into which no instance falls.
  int64_t unreached = 0;
  int64_t uncovered = 0;  // instances within the bounds that belong to no form
};

// Repeats a proof file (verifier/prover/proof_file.h writes it, docs/proofs.md defines the format).
// Accepts it if it is a proof of `rule` and its steps are correct on the instances checked: every
// recorded normal form equals its side, every map of axes is a bijection under which the paired
// terms agree, and a step uses up every term. Stops at the first step that fails.
Replayed ReplayProof(absl::string_view file, const Substitution& rule, const Bounds& bounds = {});

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_CHECKER_H_
