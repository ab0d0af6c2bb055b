// Decides whether two normal forms are equal. Internal to the prover. pairing.cc finds the
// bijections between axes.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_EQUALITY_H_
#define LEMMA_VERIFIER_NORMAL_FORM_EQUALITY_H_

#include <optional>
#include <string>
#include <vector>

#include "verifier/normal_form/form_text.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {

// Compares normal forms: in their difference, replaces pairs of summands by their remainders until
// no pair is left. Two summands form a pair if a bijection between their axes makes their atoms
// equal. Their remainder: where the guards of both hold, their coefficients are added (the sum is 0
// if they cancel); where the guards of only one hold, this summand remains. The bijection is
// inferred from the reads of both summands, and then checked. The answer false means only that no
// proof was found, perhaps because the limit on the number of attempts was reached. The limit
// counts the attempts of all calls of one object. The constructor's arguments must outlive the
// object.
class Equality {
 public:
  Equality(NormalForms* forms, Arith* arith, Laws laws)
      : forms_(*forms),
        leaves_(forms->leaves()),
        arith_(*arith),
        laws_(laws),
        normalizer_(forms, arith, laws) {}

  // Whether `difference` is 0 wherever `context` holds.
  bool IsZero(const NormalForm& difference, const Facts& context);
  // Whether a - b is 0 wherever `context` holds.
  bool AreEqual(const NormalForm& a, const NormalForm& b, const Facts& context);

  // Looks into the operands of functions and maxima in `form`, and adds up summands there that are
  // equal up to their axes. Returns the result, simplified; nullopt if there are no such summands.
  std::optional<NormalForm> Merged(const NormalForm& form, const Facts& context);

  Normalizer& normalizer() { return normalizer_; }
  // The summands that IsZero could not cancel when it last failed, as text for people.
  const std::string& remainder() const { return remainder_; }
  // The summands of remainder(), as a form.
  const NormalForm& remaining() const { return remaining_; }
  StepLog* log = nullptr;  // if set, receives the steps of IsZero; not owned

 private:
  // In private comments and names, "mine" is the first summand of a pair, "other" the second.
  struct Equation {
    Poly mine, other;
  };
  // A map of the other summand's axes to mine, and the guards that only one summand has.
  struct Pairing {
    LeafMap map;
    Summand other;  // the other summand, with its axes renamed apart
    Summand image;  // the other summand over my axes
    Facts only_mine, only_image;
  };

  // Both functions add up summands that are equal up to their axes, and return whether there were
  // any. AddUp treats the summands of `form` and those inside its functions, AddUpUnder only the
  // latter.
  bool AddUp(NormalForm* form, const Facts& context);
  bool AddUpUnder(NormalForm* form, const Facts& context);
  // Replaces a pair of summands by its remainder. False if no two summands form a pair.
  bool CancelOnce(std::vector<Summand>* terms, const Facts& context);
  // Prefers bijections that leave no remainder. nullopt if no bijection is found.
  std::optional<Pairing> Pair(const Summand& mine, const Summand& other, const Facts& context);
  // `exact`: neither summand may leave a remainder.
  std::optional<Pairing> TryMap(const Summand& mine, const Summand& other, const LeafMap& map,
                                const Facts& context, bool exact = false);
  // Appends the simplified remainder of two paired summands to `out`. `vanished`: remainders that
  // are 0 for another reason than an empty domain.
  void Combine(const Summand& mine, const Pairing& pairing, const Facts& context,
               std::vector<Summand>* out, std::vector<Summand>* vanished);

  bool AtomsEqual(const Atom& a, const Atom& b, const Facts& context);
  // Matches each atom of `a` with an equal atom of `b`.
  bool ProductsEqual(const std::vector<Atom>& a, const std::vector<Atom>& b, const Facts& context);
  bool ReductionsEqual(const Atom& a, const Atom& b, const Facts& context);
  // Whether every value of `a` is also a value of `b`.
  bool Covers(const Atom& b, const Alternative& a, const Facts& context, int depth);

  // Pairs the parts of `mine` with parts of `other`. For each pair of reads, adds the equations
  // that make their indices equal. Arguments and alternatives are paired by position. Summands are
  // paired if their signature occurs once on each side; their atoms are paired by the first of
  // Assignments. Bound axes of the other side are unknowns too. My bound axes go to *bound: no
  // solution may mention them.
  void Equations(const Atom& mine, const Atom& other, std::vector<Equation>* equations,
                 std::vector<Leaf>* unknowns, std::vector<Leaf>* bound, int depth);
  void Equations(const NormalForm& mine, const NormalForm& other, std::vector<Equation>* equations,
                 std::vector<Leaf>* unknowns, std::vector<Leaf>* bound, int depth);
  // Solves for unknowns that have coefficient 1 or -1.
  LeafMap Solve(std::vector<Equation> equations, const std::vector<Leaf>& unknowns,
                const Facts& context);
  // Whether others = map(mine) can be solved for mine, using each equation once.
  bool Invertible(const std::vector<Leaf>& mine, const std::vector<Leaf>& others,
                  const LeafMap& map);
  // Ways, up to a limit, to pair each atom of `mine` with an atom of `others` of the same
  // signature: by position in `mine`, the position in `others`.
  std::vector<std::vector<int>> Assignments(const std::vector<Atom>& mine,
                                            const std::vector<Atom>& others);
  // A text that does not depend on indices and operands. Atoms with different signatures are not
  // tried as a pair.
  std::string Signature(const Atom& atom) const;
  std::string Signature(const std::vector<Atom>& atoms) const;

  NormalForms& forms_;
  Leaves& leaves_;
  Arith& arith_;
  Laws laws_;
  Normalizer normalizer_;
  int depth_ = 0;
  int budget_ = 4000;  // attempts to pair or compare that are left
  std::string remainder_;
  NormalForm remaining_;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_EQUALITY_H_
