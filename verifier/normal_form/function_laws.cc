// Laws of odd and even functions, and of truth values.
#include "kernels/lanes/lane_ops.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {
namespace {

std::optional<ScalarFn> Symmetric(const Atom& atom) {
  for (int i = 0; i < kNumScalarFns; ++i) {
    const ScalarFn fn = static_cast<ScalarFn>(i);
    if (Info(fn).symmetry() != Symmetry::kNone && atom.Is(fn)) return fn;
  }
  return std::nullopt;
}

// The value of an even function at 0, which is an integer for all of them.
int64_t AtZero(ScalarFn fn) {
  double value = 0;
  Lanes<double>().unary[static_cast<int>(fn)](&value, &value, 1);
  return static_cast<int64_t>(value);
}

bool IsNumber(const NormalForm& form) {
  if (form.terms.empty()) return true;
  const Summand& t = form.terms[0];
  return form.terms.size() == 1 && t.axes.empty() && t.guards.empty() && t.atoms.empty();
}

}  // namespace

NormalForm Truth(const NormalForm& condition) {
  return OfAtom(FnAtom(Info(ScalarFn::kWhere).name, {condition, Number(1), NormalForm()}));
}

bool IsTruth(const Atom& atom) {
  if (atom.Is(ScalarFn::kWhere)) {
    const NormalForm& one = *atom.args[1];
    return IsNumber(one) && !one.terms.empty() && one.terms[0].coefficient == Poly(1) &&
           one.terms[0].denominator == 1 && atom.args[2]->terms.empty();
  }
  return atom.Is(ScalarFn::kLess) || atom.Is(ScalarFn::kEqual) || atom.Is(ScalarFn::kIsNan) ||
         atom.Is(ScalarFn::kIsInf);
}

// Odd: f(-x) = -f(x), so f(0) = 0. Even: f(-x) = f(x).
std::optional<NormalForm> Normalizer::SymmetryLaw(const Atom& atom) {
  const std::optional<ScalarFn> fn = Symmetric(atom);
  if (!fn) return std::nullopt;
  const NormalForm& arg = *atom.args[0];
  const bool odd = Info(*fn).symmetry() == Symmetry::kOdd;
  if (arg.terms.empty()) return odd ? NormalForm() : Number(AtZero(*fn));
  // Keeps x or -x: the one whose summand with the least key is positive.
  const Summand* first = nullptr;
  std::string least;
  for (const Summand& t : arg.terms) {
    if (t.coefficient.overflowed() || t.coefficient.IsZero()) return std::nullopt;
    std::string key = forms_.Key(t, false);
    if (first != nullptr && key >= least) continue;
    first = &t;
    least = std::move(key);
  }
  if (first->coefficient.terms().back().second > 0) return std::nullopt;
  return Scaled(OfAtom(FnAtom(atom.name, {Scaled(arg, -1)})), odd ? -1 : 1);
}

// x < y and x = y for x and y whose difference is a number.
std::optional<NormalForm> Normalizer::CompareLaw(const Atom& atom) {
  const bool less = atom.Is(ScalarFn::kLess);
  if (!less && !atom.Is(ScalarFn::kEqual)) return std::nullopt;
  const NormalForm difference = Combine(Sum(*atom.args[1], Scaled(*atom.args[0], -1)));
  if (difference.terms.empty()) return less ? NormalForm() : Number(1);
  const auto n = difference.terms[0].coefficient.AsConst();
  if (!IsNumber(difference) || !n) return std::nullopt;
  return less && *n > 0 ? Number(1) : NormalForm();
}

// Simplifies Truth(c) by the structure of c.
std::optional<NormalForm> Normalizer::TruthLaw(const Atom& atom) {
  if (!atom.Is(ScalarFn::kWhere) || !IsTruth(atom)) return std::nullopt;
  const NormalForm& condition = *atom.args[0];
  if (condition.terms.empty()) return NormalForm();
  if (IsNumber(condition)) {
    if (!condition.terms[0].coefficient.AsConst()) return std::nullopt;
    return Number(1);
  }
  const Atom* c = OnlyAtom(condition);
  if (c == nullptr) return std::nullopt;
  if (IsTruth(*c)) return condition;
  if (c->Is(ScalarFn::kNot)) return Sum(Number(1), Scaled(Truth(*c->args[0]), -1));
  const bool both = c->Is(ScalarFn::kAnd);
  if (!both && !c->Is(ScalarFn::kOr)) return std::nullopt;
  const NormalForm a = Truth(*c->args[0]), b = Truth(*c->args[1]), product = forms_.Product(a, b);
  return both ? product : Sum(Sum(a, b), Scaled(product, -1));
}

}  // namespace lemma::prover
