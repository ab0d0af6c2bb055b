// Laws of floor, ceil, round and trunc, which are monotonic and keep integers.
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {
namespace {

int64_t FloorOf(int64_t n, int64_t d) { return n / d - (n % d < 0 ? 1 : 0); }

// For d > 0.
int64_t Rounded(ScalarFn fn, int64_t n, int64_t d) {
  const int64_t down = FloorOf(n, d), up = -FloorOf(-n, d);
  if (fn == ScalarFn::kFloor) return down;
  if (fn == ScalarFn::kCeil) return up;
  if (fn == ScalarFn::kTrunc) return n >= 0 ? down : up;
  // To the nearest; a tie goes to even.
  const int64_t below = n - down * d, above = up * d - n;
  if (below != above) return below < above ? down : up;
  return down % 2 == 0 ? down : up;
}

// -f(-x).
ScalarFn Mirrored(ScalarFn fn) {
  if (fn == ScalarFn::kFloor) return ScalarFn::kCeil;
  return fn == ScalarFn::kCeil ? ScalarFn::kFloor : fn;
}

}  // namespace

std::optional<ScalarFn> RoundingOf(const Atom& atom) {
  for (ScalarFn fn : {ScalarFn::kFloor, ScalarFn::kCeil, ScalarFn::kRound, ScalarFn::kTrunc}) {
    if (atom.Is(fn)) return fn;
  }
  return std::nullopt;
}

// f(n) = n, f(g(x)) = g(x) for f and g of these, f(max(x, y)) = max(f(x), f(y)).
std::optional<NormalForm> RoundingLaw(ScalarFn fn, const NormalForm& arg) {
  if (arg.terms.empty()) return NormalForm();
  const Summand& t = arg.terms[0];
  if (arg.terms.size() > 1 || !t.axes.empty() || !t.guards.empty() || t.coefficient.overflowed()) {
    return std::nullopt;
  }
  if (t.atoms.empty()) {
    if (t.denominator == 1) return arg;
    auto n = t.coefficient.AsConst();
    if (!n || *n == INT64_MIN) return std::nullopt;
    return Number(Rounded(fn, *n, t.denominator));
  }
  const bool plus = t.coefficient == Poly(1), minus = t.coefficient == Poly(-1);
  if (t.atoms.size() > 1 || t.denominator != 1 || (!plus && !minus)) return std::nullopt;
  if (RoundingOf(t.atoms[0])) return arg;
  if (t.atoms[0].kind != Atom::Kind::kMax || t.atoms[0].name != Name(ReduceKind::kMax))
    return std::nullopt;
  const ScalarFn inner = minus ? Mirrored(fn) : fn;
  Atom max = t.atoms[0];
  for (Alternative& alternative : max.alternatives) {
    alternative.value = Share(OfAtom(FnAtom(Info(inner).name, {*alternative.value})));
  }
  return Scaled(OfAtom(std::move(max)), minus ? -1 : 1);
}

}  // namespace lemma::prover
