// Bounds the magnitude of normal forms as real numbers. Internal to the prover.
#ifndef LEMMA_VERIFIER_ERROR_BOUND_MAGNITUDE_H_
#define LEMMA_VERIFIER_ERROR_BOUND_MAGNITUDE_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/expr/tensor_expr.h"
#include "verifier/error_bound/upper_bound.h"
#include "verifier/normal_form/normal_form.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {

// The constructor's arguments must outlive the object.
class Magnitude {
 public:
  // `inputs`: the types of the tensors that forms read. `bounds`: by name of a parameter, its lower
  // and upper bound.
  Magnitude(NormalForms* forms, Arith* arith, const std::vector<ExprType>* inputs,
            const std::map<std::string, std::pair<double, double>>* bounds);

  // An upper bound of the form's magnitude wherever `context` holds; nullopt if none is found.
  // Elements of integer tensors are bounded by their types, elements of float tensors are not.
  std::optional<UpperBound> Of(const NormalForm& form, const Facts& context);
  std::optional<UpperBound> Of(const Summand& term, const Facts& context);

  // The summand's value, for use as the limit of AtMost (upper_bound.h).
  // Therefore it is rounded down. Only products of numbers are rounded to
  // nearest, as the reader of rules rounds them. The summand must be a product
  // of a polynomial of sizes with positive coefficients, positive numbers,
  // positive parameters and inverses of such parameters. nullopt for other
  // summands, for numbers below 2^-900, for coefficients above 2^53, and for
  // denominators that are not powers of two.
  std::optional<UpperBound> Exactly(const Summand& term, const Facts& context);

  // Whether the form shows that its value is an integer.
  bool IsInteger(const NormalForm& form) const;
  // Numbers between which the form's value lies; infinite if not known.
  Span SpanOf(const NormalForm& form, const Facts& context);
  // Whether the atom is a parameter or a number that is positive.
  bool IsPositiveConstant(const Atom& atom) const;

 private:
  std::optional<UpperBound> OfAtom(const Atom& atom, const Facts& context);
  // The product of the factors that all summands have, times a number that bounds the rest.
  std::optional<UpperBound> OfCommonFactors(const NormalForm& form, const Facts& context);
  std::optional<UpperBound> OfInverse(const NormalForm& form, const Facts& context);
  // The size's name in Powers (upper_bound.h), such as "n:k"; "" if the leaf is not a symbol.
  std::string SizeName(Leaf leaf) const;
  // An upper bound of |p|. If `p` is known to be at least 0, only its positive terms count.
  std::optional<UpperBound> OfSizes(const Poly& p, const Facts& context);
  // An upper bound of the number of points of the summand's axes.
  std::optional<UpperBound> Points(const Summand& term, const Facts& context);
  bool IsInteger(const Atom& atom) const;

  NormalForms& forms_;
  Arith& arith_;
  Normalizer spans_;
  const std::vector<ExprType>& inputs_;
  const std::map<std::string, std::pair<double, double>>& bounds_;
};

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ERROR_BOUND_MAGNITUDE_H_
