// Simplifies normal forms, given facts about sizes and indices. Internal to the prover. Steps on
// reduction axes are in normalize_axes.cc, laws of functions in laws.cc, function_laws.cc and
// rounding_laws.cc, identities in identities.cc and comparison_identities.cc.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_NORMALIZE_H_
#define LEMMA_VERIFIER_NORMAL_FORM_NORMALIZE_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/expr/tensor_expr.h"
#include "verifier/normal_form/exact/span.h"
#include "verifier/normal_form/normal_form.h"

namespace lemma::prover {

// Simplifies forms. Every step replaces a form by a form that is equal wherever the facts of
// `context` hold. The constructor's arguments must outlive the object.
class Normalizer {
 public:
  Normalizer(NormalForms* forms, Arith* arith, Laws laws)
      : forms_(*forms), leaves_(forms->leaves()), arith_(*arith), laws_(laws) {}

  // Makes Simplify use identities of functions, too. If q divides `unit`, exp, sin and cos of
  // p/q * t are written in terms of exp, sin and cos of t/unit. `unit` must be positive.
  void UseIdentities(int64_t unit) { unit_ = unit; }

  // Needed with Laws::kExact: the types of the inputs, and the bounds of parameters by name. Both
  // must outlive the object.
  void UseTypes(const std::vector<ExprType>* inputs,
                const std::map<std::string, std::pair<double, double>>* bounds) {
    inputs_ = inputs;
    bounds_ = bounds;
  }
  // Bounds and exactness of the form's value wherever `context` holds, as far as the form shows
  // them. Without UseTypes, nothing is known about atoms.
  Span SpanOf(const NormalForm& form, const Facts& context);
  // Makes later calls of SpanOf, in any context, use `span` for `form`. Ignored for a form of at
  // most one summand, and for a span that is not exact.
  void Remember(const NormalForm& form, const Span& span);
  // Whether the form shows that the float type `dtype` represents its value exactly.
  bool Holds(DType dtype, const NormalForm& form, const Facts& context);

  NormalForm Simplify(const NormalForm& form, const Facts& context);
  // Whether the form shows that it is positive wherever `context` holds.
  bool IsSurelyPositive(const NormalForm& form, const Facts& context);
  // Whether the form shows that it has a value for all values of its reads.
  bool IsTotal(const NormalForm& form, const Facts& context);
  // Whether the guards are one lower and one upper bound of each axis, and the extent of each axis
  // is at least 1 wherever `context` holds.
  bool HasPoint(const std::vector<Leaf>& axes, const Facts& guards, const Facts& context);
  // Appends any number of summands to *out. Their sum is `term`.
  void SimplifyTerm(Summand term, const Facts& context, std::vector<Summand>* out);
  // Adds up summands that differ only in their coefficients, unless these depend on axes.
  NormalForm Combine(NormalForm form);

  // Whether the limit on steps was reached: forms are still correct, but not fully simplified.
  bool exhausted() const { return steps_ > kMaxSteps; }

 private:
  enum class Change { kNothing, kChanged, kGone, kReplaced };
  static constexpr int kMaxSteps = 20000;

  // Each step may change `term` (kChanged), find it to be zero (kGone), or append its replacements
  // to *out (kReplaced). The comments at the definitions show the laws of the steps.
  Change Guards(Summand* term, const Facts& context);
  Change OnePoint(Summand* term);
  Change Indices(Summand* term, const Facts& context);
  Change SplitAxis(Summand* term, const Facts& context);
  Change DropGuards(Summand* term, const Facts& context);
  Change Sizes(Summand* term, const Facts& context);
  Change Atoms(Summand* term, const Facts& context, std::vector<Summand>* out);
  Change OneAtom(Summand* term, size_t i, const Facts& inner, const Facts& context,
                 std::vector<Summand>* out);
  // Replaces two equal atoms by a law of their product.
  Change Squares(Summand* term, const Facts& context, std::vector<Summand>* out);
  Change UnusedAxis(Summand* term, const Facts& context);
  Change MergeAxes(Summand* term, const Facts& context);
  Change Cancel(Summand* term);

  // A guard in `form` that depends on none of the axes of its summand.
  std::optional<Fact> OuterGuard(const NormalForm& form);
  // Appends `term` with atom i replaced by `factor`.
  void Expand(const Summand& term, size_t i, const NormalForm& factor, const Facts& context,
              std::vector<Summand>* out);
  // The form that a law gives for the atom; nullopt if none applies.
  std::optional<NormalForm> Law(const Atom& atom, const Facts& context);
  std::optional<NormalForm> ExpLaw(const NormalForm& arg);
  std::optional<NormalForm> LogLaw(const NormalForm& arg);
  std::optional<NormalForm> InverseLaw(const NormalForm& arg, const Facts& context);
  std::optional<NormalForm> MaxLaw(const Atom& atom, const Facts& context);
  std::optional<NormalForm> SquareLaw(const Atom& m);
  std::optional<NormalForm> SymmetryLaw(const Atom& atom);
  std::optional<NormalForm> CompareLaw(const Atom& atom);
  std::optional<NormalForm> TruthLaw(const Atom& atom);
  // Laws that hold bit for bit (exact/exact_laws.cc).
  std::optional<NormalForm> ExactLaw(const Atom& atom, const Facts& context);
  std::optional<NormalForm> RoundedLaw(const Atom& atom, DType dtype, const Facts& context);
  std::optional<NormalForm> ToIntegerLaw(const Atom& atom, const Facts& context);
  std::optional<NormalForm> StoredLaw(const Atom& atom, DType dtype, bool wraps,
                                      const Facts& context);
  std::optional<NormalForm> ContentLaw(const Atom& atom, const Facts& context);
  std::optional<NormalForm> ClampLaw(const Atom& atom, const Facts& context);
  std::optional<NormalForm> Monotone(const Atom& outer, const Atom& fn, const Facts& context);
  Span SpanOf(const Summand& term, const Facts& context);
  Span SpanOf(const Atom& atom, const Facts& context);
  Span SpanOfExtreme(const Atom& atom, const Facts& context);
  bool Holds(DType dtype, const Atom& atom, const Facts& context);
  // An upper bound of a product of sizes; infinity if none is known.
  double UpperBound(const Poly& p, const Facts& context);
  // Identities.
  std::optional<NormalForm> Identity(const Atom& atom, const Facts& context);
  std::optional<NormalForm> PowerOfExp(const NormalForm& arg, const Facts& context);
  std::optional<NormalForm> AngleLaw(const Atom& atom);
  std::optional<NormalForm> RootLaw(const NormalForm& arg);
  std::optional<NormalForm> SquareFactor(NormalForm* form);
  std::optional<std::pair<NormalForm, NormalForm>> WithoutDenominator(const NormalForm& form,
                                                                      const Facts& context);
  std::optional<NormalForm> SimplerInverse(const NormalForm& arg, const Facts& context);
  std::optional<NormalForm> NegativePower(const Atom& atom);
  std::optional<NormalForm> MaxOfExp(const Atom& atom);
  std::optional<NormalForm> MaxByTruth(const Atom& atom);
  std::optional<NormalForm> ProductOfExp(const Atom& atom);
  std::optional<NormalForm> CanonicalComparison(const Atom& atom, const Facts& context);
  std::optional<NormalForm> CaseByCase(const Atom& atom, const Facts& context);
  bool HasNegativeLead(const NormalForm& form);
  void SimplifyAlternatives(Atom* atom, const Facts& context);
  // In a maximum, drops each alternative that is nowhere greater than another one, or than the
  // greater of two others. In a minimum, drops each alternative that is nowhere less than another.
  void DropDominated(Atom* atom, const Facts& context);
  // A guard of a constant alternative without axes, if there are other alternatives.
  std::optional<Fact> GuardOfConstant(const Atom& atom) const;
  bool IsNonNegative(const NormalForm& form, const Facts& context, int depth);
  bool IsBetween(const NormalForm& p, const NormalForm& a, const NormalForm& b);
  // An atom that is a factor of every summand of `form`, and the rest of the form.
  std::optional<std::pair<Atom, NormalForm>> CommonFactor(const NormalForm& form);
  bool NonZero(const Atom& atom) const;
  bool IsPositive(const NormalForm& form) const;

  NormalForms& forms_;
  Leaves& leaves_;
  Arith& arith_;
  Laws laws_;
  int64_t unit_ = 0;  // 0: identities are not used
  const std::vector<ExprType>* inputs_ = nullptr;
  const std::map<std::string, std::pair<double, double>>* bounds_ = nullptr;
  int steps_ = 0;
  std::map<std::string, Span> remembered_;  // by key, of forms with several summands
};

// The form that is 1 where `condition` is not 0, and 0 elsewhere.
NormalForm Truth(const NormalForm& condition);
// Whether `atom` is always 0 or 1.
bool IsTruth(const Atom& atom);

// The function, if `atom` is floor, ceil, round or trunc.
std::optional<ScalarFn> RoundingOf(const Atom& atom);
// fn(arg), simplified by a law of rounding functions; nullopt if no law applies. `fn` must be
// floor, ceil, round or trunc.
std::optional<NormalForm> RoundingLaw(ScalarFn fn, const NormalForm& arg);

// The name (Atom::name) of the function that rounds to a float type.
std::string RoundingTo(DType dtype);
// The name of the function x + 0. Its value is x, except that -0 becomes +0.
constexpr char kPlusZero[] = "plus_zero";

// All facts of both lists.
Facts With(const Facts& facts, const Facts& more);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_NORMALIZE_H_
