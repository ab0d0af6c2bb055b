// Bounds the difference of two values as real numbers. Internal to the prover.
#ifndef LEMMA_VERIFIER_ERROR_BOUND_DIFFERENCE_BOUND_H_
#define LEMMA_VERIFIER_ERROR_BOUND_DIFFERENCE_BOUND_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verifier/error_bound/magnitude.h"
#include "verifier/normal_form/equality.h"

namespace lemma::prover {

// Finds upper bounds. First, each conversion of a float to an integer type of up to 32 bits is
// written out: the float is clamped to the type's range and truncated. Then these steps are tried,
// in this order:
//   * summands that are equal up to their sign cancel;
//   * |x f(a) + y f(b)| <= |x| c |a - b| + |x + y| |f(b)|, where f is abs,
//     tanh, erf, sin or cos, and c is its steepest slope. Likewise for a
//     maximum or minimum, which changes by at most the largest change of an
//     operand;
//   * x round(a) becomes x a, and |x| / 2 is added to the bound; for floor, ceil and trunc, |x| is
//     added;
//   * the magnitude of the remaining summands is added.
//
// The constructor's arguments must outlive the object. `inputs` and `bounds` as in Magnitude.
class DifferenceBound {
 public:
  DifferenceBound(NormalForms* forms, Arith* arith, const std::vector<ExprType>* inputs,
                  const std::map<std::string, std::pair<double, double>>* bounds);

  // An upper bound of |difference| wherever `context` holds. nullopt if none is found, for example
  // because a limit on steps, forms or depth is reached. remainder() then has the summands without
  // a bound, or says that the limit on steps was reached.
  std::optional<UpperBound> Of(const NormalForm& difference, const Facts& context);
  const std::string& remainder() const { return remainder_; }

  // `form` with conversions to integer types written out, and without products of a positive number
  // or parameter and its inverse.
  NormalForm Prepared(const NormalForm& form, const Facts& context);
  // The form's own value as a sum of products of sizes and positive parameters. nullopt if it is
  // not of this kind. The coefficients are rounded as in Magnitude::Exactly.
  std::optional<UpperBound> AsLimit(const NormalForm& form, const Facts& context);

 private:
  // A form in two parts: the summands that contain a given factor and have the axes and guards of a
  // given summand, and the rest.
  struct Factored {
    NormalForm factor;  // their sum without this factor, at a point of the axes
    NormalForm rest;    // the other summands
  };
  Factored Collect(const NormalForm& form, const Summand& like, const Atom& atom);
  // An upper bound of the sum of |factor| over the points of the axes of `like`.
  std::optional<UpperBound> OfFactor(const NormalForm& factor, const Summand& like,
                                     const Facts& context);
  struct Product {
    Atom atom;
    NormalForm factor;
  };
  // An upper bound of the sum of two products over the axes of `like`. If `same_factors`, nullopt
  // unless their factors add up to 0; otherwise nullopt if they do.
  std::optional<UpperBound> OfPair(const Summand& like, const Product& a, const Product& b,
                                   const Facts& context, bool same_factors, int depth);
  // The steps of Of: two functions of nearby arguments; a function that rounds.
  std::optional<UpperBound> ByPairs(const NormalForm& form, const Facts& context, bool same_factors,
                                    int depth);
  std::optional<UpperBound> ByRounding(const NormalForm& form, const Facts& context, int depth);
  std::optional<UpperBound> Bound(const NormalForm& difference, const Facts& context, int depth);
  std::optional<UpperBound> OfAtoms(const Atom& a, const Atom& b, const Facts& context, int depth);
  std::optional<UpperBound> OfAlternatives(const Atom& a, const Atom& b, const Facts& context,
                                           int depth);
  // `term` with atom i replaced by `factor`.
  std::vector<Summand> Replaced(const Summand& term, size_t i, const NormalForm& factor);
  // The value of an atom that converts a float to an integer type of up to 32 bits, or that rounds
  // an integer; nullopt for other atoms.
  std::optional<NormalForm> WrittenOut(const Atom& atom, const Facts& context);
  // The summand with all such atoms replaced.
  NormalForm WrittenOut(const Summand& term, const Facts& context);
  // `value`, converted to an integer type.
  NormalForm Stored(const NormalForm& value, DType dtype, const Facts& context);
  Atom PreparedAtom(const Atom& atom, const Facts& context);
  void SplitInverses(Summand* term);
  void CancelInverses(Summand* term);

  NormalForms& forms_;
  Arith& arith_;
  Equality equality_;
  Magnitude magnitude_;
  std::string remainder_;
  int forms_tried_ = 0;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ERROR_BOUND_DIFFERENCE_BOUND_H_
