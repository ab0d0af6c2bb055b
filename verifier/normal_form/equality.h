// Are two normal forms equal? Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_EQUALITY_H_
#define LEMMA_VERIFIER_NORMAL_FORM_EQUALITY_H_

#include <optional>
#include <string>
#include <vector>

#include "verifier/normal_form/form_text.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {

// Terms cancel in pairs: a bijection of their axes, inferred from their reads, makes their atoms
// equal; where their guards differ a part of each remains. Every inferred thing is checked.
class Equality {
 public:
  Equality(Forms* forms, Arith* arith, Laws laws)
      : forms_(*forms),
        leaves_(forms->leaves()),
        arith_(*arith),
        laws_(laws),
        normalizer_(forms, arith, laws) {}

  // `difference` is 0 wherever `context` holds.
  bool IsZero(const NormalForm& difference, const Facts& context);
  bool AreEqual(const NormalForm& a, const NormalForm& b, const Facts& context);

  // `form` with terms under functions and maxima added up where they are equal but for their axes,
  // and simplified; nullopt if there are none.
  std::optional<NormalForm> Merged(const NormalForm& form, const Facts& context);

  Normalizer& normalizer() { return normalizer_; }
  // What was left when IsZero last failed at the outermost level.
  const std::string& remainder() const { return remainder_; }
  StepLog* log = nullptr;  // of the outermost difference

 private:
  struct Equation {
    Poly mine, other;
  };
  // A map of the other term's axes to mine, and the guards that one side has and the other lacks.
  struct Pairing {
    LeafMap map;
    Term other;  // the other term, with axes of its own
    Term image;  // the same over my axes
    Facts only_mine, only_image;
  };

  // Adds up such terms of `form` itself, and under its functions; whether there were any.
  bool AddUp(NormalForm* form, const Facts& context);
  bool AddUpUnder(NormalForm* form, const Facts& context);
  bool CancelOnce(std::vector<Term>* terms, const Facts& context);
  // Bijections first that leave no residual; nullopt if there is none.
  std::optional<Pairing> Pair(const Term& mine, const Term& other, const Facts& context);
  // `exact`: nothing may be left of either.
  std::optional<Pairing> TryMap(const Term& mine, const Term& other, const LeafMap& map,
                                const Facts& context, bool exact = false);
  // Appends what is left of two terms that were paired, simplified, to `out`; `vanished`: what is
  // left but is 0 for other reasons than that it is nowhere.
  void Combine(const Term& mine, const Pairing& pairing, const Facts& context,
               std::vector<Term>* out, std::vector<Term>* vanished);

  bool AtomsEqual(const Atom& a, const Atom& b, const Facts& context);
  // Matches each atom of `a` with one of `b`.
  bool ProductsEqual(const std::vector<Atom>& a, const std::vector<Atom>& b, const Facts& context);
  bool ReductionsEqual(const Atom& a, const Atom& b, const Facts& context);
  // Every value of `a` is one of `b`.
  bool Covers(const Atom& b, const Alternative& a, const Facts& context, int depth);

  // Equations that hold if the factors are paired in order. Axes bound inside are unknowns too,
  // those of the other side; my own are listed in *bound, since no solution may speak of them.
  void Equations(const Atom& mine, const Atom& other, std::vector<Equation>* equations,
                 std::vector<Leaf>* unknowns, std::vector<Leaf>* bound, int depth);
  void Equations(const NormalForm& mine, const NormalForm& other, std::vector<Equation>* equations,
                 std::vector<Leaf>* unknowns, std::vector<Leaf>* bound, int depth);
  // Solves for unknowns with unit coefficients.
  LeafMap Solve(std::vector<Equation> equations, const std::vector<Leaf>& unknowns,
                const Facts& context);
  bool Invertible(const std::vector<Leaf>& mine, const std::vector<Leaf>& others,
                  const LeafMap& map);
  std::vector<std::vector<int>> Assignments(const std::vector<Atom>& mine,
                                            const std::vector<Atom>& others);
  std::string Signature(const Atom& atom) const;
  std::string Signature(const std::vector<Atom>& atoms) const;

  Forms& forms_;
  Leaves& leaves_;
  Arith& arith_;
  Laws laws_;
  Normalizer normalizer_;
  int depth_ = 0;
  int budget_ = 4000;
  std::string remainder_;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_EQUALITY_H_
