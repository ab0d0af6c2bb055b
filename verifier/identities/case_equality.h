// Decides whether two normal forms are equal, after the usual comparison
// (verifier/normal_form/equality.h) has failed. CaseEquality writes out reductions over axes of
// small constant extents. If an index of the output element has few possible values, it compares
// once for each value. For real numbers, it also uses identities of functions and asks the solver.
// Internal to the prover.
#ifndef LEMMA_VERIFIER_IDENTITIES_CASE_EQUALITY_H_
#define LEMMA_VERIFIER_IDENTITIES_CASE_EQUALITY_H_

#include <cstdint>
#include <set>
#include <string>

#include "verifier/arithmetic/arith.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {

class CaseEquality {
 public:
  // Identities of functions, and the solver, are used only with Laws::kRealOnly. `rlimit`: the
  // solver's limit per query, in its own steps. `forms` and `arith` must outlive the object.
  CaseEquality(NormalForms* forms, Arith* arith, Laws laws, uint32_t rlimit)
      : forms_(*forms), arith_(*arith), laws_(laws), rlimit_(rlimit) {}

  // Whether a = b wherever `context` holds. False: no proof was found. Call
  // this function only after Equality::AreEqual has returned false for the same
  // arguments: it may skip the comparison that Equality::AreEqual makes.
  bool AreEqual(const NormalForm& a, const NormalForm& b, const Facts& context);

  // Equality::remainder of the last comparison that failed; "" if none failed.
  const std::string& remainder() const { return remainder_; }

 private:
  // AreEqual, after `depth` indices have been replaced by numbers.
  bool ValueByValue(NormalForm a, NormalForm b, const Facts& context, int depth);
  bool Compare(const NormalForm& a, const NormalForm& b, const Facts& context);
  // Only with Laws::kRealOnly.
  bool ByIdentities(const NormalForm& a, const NormalForm& b, const Facts& context);
  // Asks the solver whether `difference` is 0 (real_query.h), separately for both truth values of
  // guards that mention no axis. `defined`: as in RealQuery. `unit`: as in
  // Normalizer::UseIdentities. `depth`: how many guards have been decided.
  bool ByQuery(const NormalForm& difference, const Facts& context,
               const std::set<std::string>& defined, int64_t unit, int depth);

  NormalForms& forms_;
  Arith& arith_;
  const Laws laws_;
  const uint32_t rlimit_;
  int cases_ = 0;
  std::string remainder_;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_IDENTITIES_CASE_EQUALITY_H_
