// The small checker repeats the prover's claims at small sizes with independent code. CheckRule is
// in check_rule.cc, ReplayProof in replay.cc.
//
// It shares with the prover only what states a claim: the rule's text form and terms (rewrite/) and
// the operators' definitions (graph/). It uses neither Z3 nor the normalization, and does not
// search for proofs.
#ifndef LEMMA_VERIFIER_CHECKER_CHECKER_H_
#define LEMMA_VERIFIER_CHECKER_CHECKER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "rewrite/rules/substitution.h"

namespace lemma::checker {

// Limits on the instances that are checked. Instances::ForEach (instances.h) says in which order
// they are visited.
struct Bounds {
  // Sizes range from 1 to max_size. Other integers take small values around 0. Both ranges are
  // extended if that is little work.
  int64_t max_size = 3;
  int max_list = 3;  // most elements of a list, unless an operand's rank suggests more
  // How many terms of polynomials CheckRule may touch. ReplayProof divides this among the forms,
  // and gives each at least 6000. It then spends an eighth more, or 6000 if that is more, on
  // looking for instances that belong to no form. The count is the same on every machine.
  int64_t work = 400'000;
};

// The result of CheckRule.
struct Checked {
  enum class Answer {
    kEqual,      // the sides are equal on every instance checked; there is at least one
    kDiffers,    // the sides differ on the instance that `detail` names
    kUndecided,  // neither: no instance has elements; or, on the instance that `detail` names, the
                 // polynomials differ but no point shows it, or a side cannot be evaluated, for
                 // example because a coefficient overflows
  };
  Answer answer = Answer::kUndecided;
  int64_t equal = 0;        // instances whose outputs have identical polynomials in all elements
  int64_t undecided = 0;    // instances that are neither equal nor different: see kUndecided
  bool exhaustive = false;  // all instances within the bounds were checked
  std::string coverage;     // which instances were checked, for people
  std::string detail;       // explains the answer, for people; "" if kEqual
};

// Evaluates both sides on instances within the bounds: values of the rule's symbols for which both
// sides are well-formed and the precondition holds. Each element of an input is an indeterminate (a
// variable of polynomials). But if an element of an input serves as an index, the elements of
// integer inputs are small numbers. Each element of an output is a polynomial with rational
// coefficients in the indeterminates and in further atoms (algebra.h), which stand for nonlinear
// functions. Polynomials are compared term by term, under the laws of the rule's float contract
// (docs/proofs.md). Deterministic.
Checked CheckRule(const Substitution& rule, const Bounds& bounds = {});

// The result of ReplayProof.
struct Replayed {
  bool accepted = false;
  std::string problem;    // the line and step that failed; "" if accepted
  int64_t steps = 0;      // steps in the file
  int64_t checks = 0;     // comparisons of two values that a step claims to be equal
  int64_t undecided = 0;  // instances and elements on which a step could not be decided
  // Parts of the proof that no instance reaches. A form to which no instance belongs counts once.
  // In any other form, an output of a case (docs/proofs.md) counts if none of its elements was
  // checked, unless the proof states that the output is empty.
  int64_t unreached = 0;
  int64_t uncovered = 0;  // visited instances that belong to no form, although the target exists
};

// Repeats a proof. `file`: the content of a proof file
// (verifier/prover/proof_file.h writes such files, docs/proofs.md defines the
// format). Accepts the proof if it is about `rule`, with the rule's float
// contract or a stricter one, and if its steps are correct on the instances
// checked: every recorded normal form equals its side; every pair of summands
// agrees under its map of axes, and the map is one to one; and each summand of
// the difference is used up by exactly one step. Stops at the first step that
// fails.
Replayed ReplayProof(absl::string_view file, const Substitution& rule, const Bounds& bounds = {});

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_CHECKER_H_
