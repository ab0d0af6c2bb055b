// The small checker: repeats what the prover claims, at small sizes, with code of its own.
//
// Shares with the prover only what states the claim: the rule's text form and terms (rewrite/) and
// the operators' definitions (graph/). It knows no Z3, no normalization and no search.
#ifndef LEMMA_VERIFIER_CHECKER_CHECKER_H_
#define LEMMA_VERIFIER_CHECKER_CHECKER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "rewrite/rules/substitution.h"

namespace lemma::checker {

// Which instances are looked at: the smallest first, until the work is used up.
struct Bounds {
  // Sizes are 1 … max_size, other integers small ones around 0. More where that is little work.
  int64_t max_size = 3;
  int max_list = 3;        // elements of a list whose length the rule leaves open
  int64_t work = 400'000;  // of one rule: terms touched, a count that is the same everywhere
};

struct Checked {
  enum class Answer {
    kEqual,      // on every instance looked at, of which there was at least one
    kDiffers,    // on the instance that `detail` names
    kUndecided,  // neither: unlike in form only, an overflow, or an infinity in a sum; `detail`
                 // names the first such instance
  };
  Answer answer = Answer::kUndecided;
  int64_t equal = 0;        // instances with identical polynomials in all elements of all outputs
  int64_t undecided = 0;    // instances on which they are not, but no point tells them apart
  bool exhaustive = false;  // every instance within the bounds was looked at
  std::string coverage;     // for people
  std::string detail;
};

// Evaluates both sides for every value of the rule's symbols within the bounds for which the source
// is well-formed and the precondition holds, all inputs being indeterminates: each element of an
// output is a polynomial with rational coefficients in these and in atoms that stand for nonlinear
// functions. Polynomials are compared term by term, under the laws of the rule's float contract
// (docs/proofs.md). Deterministic.
Checked CheckRule(const Substitution& rule, const Bounds& bounds = {});

struct Replayed {
  bool accepted = false;
  std::string problem;    // the line and step that failed; "" if accepted
  int64_t steps = 0;      // steps in the file
  int64_t checks = 0;     // how often one was evaluated at concrete sizes
  int64_t undecided = 0;  // instances and elements that have no value to compare: see Checked
  int64_t unreached = 0;  // forms, and outputs of cases, for which no instance was found
  int64_t uncovered = 0;  // instances within the bounds that no form is about
};

// Repeats a proof file (verifier/prover/proof_file.h writes them, docs/proofs.md has the format):
// is it a proof of `rule`, is every recorded normal form equal to the side it stands for, is every
// map of axes a bijection under which the paired terms agree, and is every term accounted for?
Replayed ReplayProof(absl::string_view file, const Substitution& rule, const Bounds& bounds = {});

}  // namespace lemma::checker

#endif  // LEMMA_VERIFIER_CHECKER_CHECKER_H_
