// Asks the solver whether a normal form is 0 for all values of the elements that it reads. Internal
// to the prover.
//
// The normal form becomes an expression of nonlinear real arithmetic. Reads, sums over axes and
// functions without an algebraic law are variables. Comparisons choose between values. An
// exponential is a positive variable. The reciprocal of d is a variable r, with the law r * d = 1
// if d is known not to be 0. The root of d is a variable w, with the laws w >= 0 and w * w = d if d
// is known not to be negative. Such a condition on d is known if the solver proves it. It is also
// known if both sides compute the reciprocal or root unconditionally: then neither side has a value
// where the condition is false.
#ifndef LEMMA_VERIFIER_IDENTITIES_REAL_QUERY_H_
#define LEMMA_VERIFIER_IDENTITIES_REAL_QUERY_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verifier/normal_form/equality.h"

namespace lemma::prover {

// Keys (NormalForms::Key) of the reciprocals and roots that `form` computes for all values of its
// reads. Empty if `form` contains truth values, the function where, guards that are not bounds of
// axes, or a sum that may have no summand.
std::set<std::string> UnconditionalKeys(NormalForms* forms, Normalizer* normalizer,
                                        const NormalForm& form, const Facts& context);

class RealQuery {
 public:
  // `equality`: recognizes equal sums and functions. `context`: facts that hold. `defined`: keys of
  // reciprocals and roots that have a value wherever both sides of the claim have one. `rlimit`:
  // the solver's limit per query, in its own steps. The objects behind the pointers, and `context`,
  // must outlive the query.
  RealQuery(NormalForms* forms, Arith* arith, Equality* equality, const Facts& context,
            std::set<std::string> defined, uint32_t rlimit)
      : forms_(*forms),
        leaves_(forms->leaves()),
        arith_(*arith),
        equality_(*equality),
        context_(context),
        defined_(std::move(defined)),
        rlimit_(rlimit) {}

  // Whether `form` is 0 wherever the context holds. False: not proved. Each guard of `form` must
  // mention an axis of its summand.
  bool IsZero(const NormalForm& form);

 private:
  std::string Value(const NormalForm& form);
  std::string Value(const Summand& term);
  std::string Value(const Poly& p);
  std::vector<Summand> Independent(const Summand& sum) const;
  std::string OfSum(const Summand& sum);
  std::string Factor(const Atom& atom);
  // Whether x, the operand of the reciprocal or root with this key, meets the condition under which
  // the reciprocal or root has a value.
  bool IsDefined(const std::string& key, const NormalForm& x, const std::string& condition);
  std::string Condition(const Atom& truth);
  std::string OfFunction(const Atom& atom, const std::string& name);
  std::string OfConstant(const std::string& name, const std::string& variable);
  // The variable for the value with this key. If `form`, the value, is given, equal values share
  // one variable even if their keys differ. Sets *added to whether the variable is new.
  std::string Variable(const std::string& key, const NormalForm* form, bool* added);
  void Assume(const std::string& fact) { facts_ += "(assert " + fact + ")\n"; }
  // Whether the facts so far imply the goal. `what`: the goal, for people.
  bool Implied(const std::string& goal, const std::string& what);
  bool IsPositiveSum(const Summand& sum, bool* strictly);

  NormalForms& forms_;
  Leaves& leaves_;
  Arith& arith_;
  Equality& equality_;
  const Facts& context_;
  const std::set<std::string> defined_;
  const uint32_t rlimit_;
  std::map<std::string, std::string> variables_;           // by key
  std::vector<std::pair<NormalForm, std::string>> known_;  // variables of values
  size_t count_ = 0;
  std::string facts_;
  bool too_large_ = false;
  bool assumed_ = false;  // whether a fact rests on `defined_`
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_IDENTITIES_REAL_QUERY_H_
