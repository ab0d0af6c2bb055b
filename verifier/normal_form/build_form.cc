#include "verifier/normal_form/build_form.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "verifier/normal_form/normalize.h"
#include "verifier/normal_form/storage.h"

namespace lemma::prover {
namespace {

constexpr size_t kMaxTerms = 3000;
constexpr int64_t kMaxNumber = int64_t{1} << 24;

NormalForm Guarded(NormalForm form, const Facts& guards) {
  for (Summand& term : form.terms) {
    term.guards.insert(term.guards.end(), guards.begin(), guards.end());
  }
  return form;
}

}  // namespace

void FormBuilder::TooLarge(const NormalForm& form) {
  if (form.terms.size() > kMaxTerms && error_.empty()) error_ = "the expression has too many terms";
}

Poly FormBuilder::Index(const IndexExpr& e, const Env& env) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      return e.value();
    case IndexExpr::Kind::kSymbol: {
      const Leaf leaf = leaves_.Symbol(e.name());
      auto it = symbols_.find(leaf);
      return it == symbols_.end() ? Poly::Of(leaf) : it->second;
    }
    case IndexExpr::Kind::kVar: {
      auto it = env.find(e.var());
      if (it != env.end()) return it->second;
      error_ = "an index variable is not bound";
      return 0;
    }
    case IndexExpr::Kind::kAdd:
      return Index(e.lhs(), env) + Index(e.rhs(), env);
    case IndexExpr::Kind::kMul:
      return Index(e.lhs(), env) * Index(e.rhs(), env);
    case IndexExpr::Kind::kFloorDiv:
      return leaves_.Div(Index(e.lhs(), env), Index(e.rhs(), env));
    case IndexExpr::Kind::kMod:
      return leaves_.Mod(Index(e.lhs(), env), Index(e.rhs(), env));
    case IndexExpr::Kind::kMin:
      return leaves_.Min(Index(e.lhs(), env), Index(e.rhs(), env));
    case IndexExpr::Kind::kMax:
      return leaves_.Max(Index(e.lhs(), env), Index(e.rhs(), env));
    case IndexExpr::Kind::kLoad: {
      // Uninterpreted: the integer may have any value.
      FormBuilder plain(&forms_, definition_, Laws::kNone, symbols_, operators_);
      plain.reader_ = reader_;
      NormalForm form = plain.Scalar(ScalarExpr(e.load()), env);
      if (!plain.error_.empty()) error_ = plain.error_;
      std::vector<Leaf> deps;
      forms_.CollectDeps(form, &deps);
      std::string text = forms_.Key(form);
      return leaves_.Load(Share(std::move(form)), std::move(text), std::move(deps));
    }
  }
  return 0;
}

std::vector<Facts> FormBuilder::Cases(const Guard& guard, bool positive, const Env& env) {
  switch (guard.kind()) {
    case Guard::Kind::kTrue:
    case Guard::Kind::kFalse:
      if (guard.is_true() == positive) return {{}};
      return {};
    case Guard::Kind::kLe: {
      Fact fact = Fact::Ge(Index(guard.rhs(), env) - Index(guard.lhs(), env));
      return {{positive ? fact : Negation(fact)}};
    }
    case Guard::Kind::kEq: {
      Fact fact = Fact::Eq(Index(guard.lhs(), env) - Index(guard.rhs(), env));
      return {{positive ? fact : Negation(fact)}};
    }
    case Guard::Kind::kNot:
      return Cases(guard.left(), !positive, env);
    case Guard::Kind::kAnd:
    case Guard::Kind::kOr: {
      const bool both = (guard.kind() == Guard::Kind::kAnd) == positive;
      std::vector<Facts> left = Cases(guard.left(), positive, env),
                         right = Cases(guard.right(), positive, env), result;
      auto conjoin = [&](const std::vector<Facts>& xs, const std::vector<Facts>& ys) {
        for (const Facts& x : xs) {
          for (const Facts& y : ys) {
            result.push_back(x);
            result.back().insert(result.back().end(), y.begin(), y.end());
          }
        }
      };
      if (both) {
        conjoin(left, right);
      } else {
        result = left;
        conjoin(Cases(guard.left(), !positive, env), right);
      }
      if (result.size() > 64 && error_.empty()) error_ = "a guard has too many cases";
      return result;
    }
  }
  return {};
}

NormalForm FormBuilder::Constant(double value) {
  const bool named = laws_ == Laws::kNone || laws_ == Laws::kExact;
  const bool minus_zero = value == 0 && std::signbit(value);
  if (laws_ != Laws::kNone && std::isfinite(value) && !(laws_ == Laws::kExact && minus_zero)) {
    for (int64_t denominator = 1; denominator <= 4096; denominator *= 2) {
      const double scaled = value * static_cast<double>(denominator);
      if (std::abs(scaled) > static_cast<double>(kMaxNumber)) break;
      if (scaled == std::floor(scaled)) return Number(static_cast<int64_t>(scaled), denominator);
    }
  }
  if (!named && !std::isfinite(value)) {
    if (error_.empty()) error_ = "a constant that is not a real number";
    return {};
  }
  Atom atom;
  atom.kind = Atom::Kind::kConstant;
  const bool negative = !named && std::signbit(value);
  atom.name = absl::StrFormat("c:%.17g", negative ? -value : value);
  return Scaled(OfAtom(std::move(atom)), negative ? -1 : 1);
}

NormalForm FormBuilder::Max(std::vector<NormalForm> values) {
  Atom atom;
  atom.kind = Atom::Kind::kMax;
  atom.name = "max";
  for (NormalForm& value : values) atom.alternatives.push_back({{}, {}, Share(std::move(value))});
  return OfAtom(std::move(atom));
}

NormalForm FormBuilder::Inverse(NormalForm form) {
  Atom atom;
  atom.kind = Atom::Kind::kInverse;
  atom.args = {Share(std::move(form))};
  return OfAtom(std::move(atom));
}

namespace {

bool IsConstant(const NormalForm& form, const char* text) {
  const Atom* atom = OnlyAtom(form);
  return atom != nullptr && atom->kind == Atom::Kind::kConstant && atom->name == text;
}

NormalForm ExactNegation(const NormalForm& form) {
  const Atom* atom = OnlyAtom(form);
  if (atom != nullptr && atom->Is(ScalarFn::kNeg)) {
    return *atom->args[0];
  }
  if (atom != nullptr && atom->kind == Atom::Kind::kConstant && atom->name.rfind("c:", 0) == 0) {
    Atom opposite = *atom;
    opposite.name =
        atom->name[2] == '-' ? "c:" + atom->name.substr(3) : "c:-" + atom->name.substr(2);
    return OfAtom(std::move(opposite));
  }
  return OfAtom(FnAtom("neg", {form}));
}

}  // namespace

// Laws that hold bit for bit in floating-point arithmetic: a - b = a + (-b), -(-a) = a, 1*a = a,
// a/1 = a, a + (-0) = a; maxima and minima depend on the set of their operands only.
std::optional<NormalForm> FormBuilder::ApplyExactly(ScalarFn fn,
                                                    const std::vector<NormalForm>& args) {
  switch (fn) {
    case ScalarFn::kNeg:
      return ExactNegation(args[0]);
    case ScalarFn::kAdd:
    case ScalarFn::kSub: {
      NormalForm second = fn == ScalarFn::kSub ? ExactNegation(args[1]) : args[1];
      if (IsConstant(second, "c:-0")) return args[0];
      if (IsConstant(args[0], "c:-0")) return second;
      return OfAtom(FnAtom("add", {args[0], std::move(second)}));
    }
    case ScalarFn::kMul:
      if (IsConstant(args[0], "c:1")) return args[1];
      if (IsConstant(args[1], "c:1")) return args[0];
      return std::nullopt;
    case ScalarFn::kDiv:
      if (IsConstant(args[1], "c:1")) return args[0];
      return std::nullopt;
    case ScalarFn::kMax:
      return Max(args);
    case ScalarFn::kMin: {
      NormalForm form = Max(args);
      form.terms[0].atoms[0].name = "min";
      return form;
    }
    default:
      return std::nullopt;
  }
}

NormalForm FormBuilder::Apply(const ScalarExpr& e, const Env& env) {
  if (laws_ != Laws::kNone && (e.fn() == ScalarFn::kMax || e.fn() == ScalarFn::kMin)) {
    // max(x, -inf) = x, min(x, inf) = x.
    const double neutral = e.fn() == ScalarFn::kMax ? -INFINITY : INFINITY;
    for (int i = 0; i < 2; ++i) {
      const ScalarExpr& arg = e.args()[i];
      if (arg.kind() == ScalarExpr::Kind::kConst && arg.value() == neutral) {
        return Scalar(e.args()[1 - i], env);
      }
    }
  }
  std::vector<NormalForm> args;
  const bool any_zero = computation_.any_zero;
  for (size_t i = 0; i < e.args().size(); ++i) {
    computation_.any_zero = AnyZero(e.fn(), i, any_zero);
    args.push_back(Scalar(e.args()[i], env));
  }
  computation_.any_zero = any_zero;
  if (laws_ == Laws::kExact) return ApplyWhereExact(e.fn(), args);
  if (laws_ == Laws::kNone) {
    if (auto exact = ApplyExactly(e.fn(), args)) return *std::move(exact);
  } else {
    switch (e.fn()) {
      case ScalarFn::kAdd:
        return Sum(args[0], args[1]);
      case ScalarFn::kSub:
        return Sum(args[0], Scaled(args[1], -1));
      case ScalarFn::kNeg:
        return Scaled(args[0], -1);
      case ScalarFn::kMul: {
        if (args[0].terms.size() * args[1].terms.size() > kMaxTerms) {
          error_ = "a product has too many terms";
          return {};
        }
        return forms_.Product(args[0], args[1]);
      }
      case ScalarFn::kDiv:
        return forms_.Product(args[0], Inverse(std::move(args[1])));
      case ScalarFn::kMax:
        return Max(std::move(args));
      case ScalarFn::kMin:
        return Scaled(Max({Scaled(args[0], -1), Scaled(args[1], -1)}), -1);
      case ScalarFn::kAbs:
        return Max({args[0], Scaled(args[0], -1)});
      case ScalarFn::kPow: {
        if (args[1].terms.size() != 1) break;
        const Summand& exponent = args[1].terms[0];
        auto numerator = exponent.coefficient.AsConst();
        if (!numerator || !exponent.atoms.empty() || !exponent.axes.empty() ||
            !exponent.guards.empty()) {
          break;
        }
        const double n = 1.0 * *numerator / exponent.denominator;
        if (n == 0.5) return OfAtom(FnAtom("sqrt", {args[0]}));
        if (n == 1 || n == 2 || n == 3 || n == 4) {
          if (std::pow(args[0].terms.size(), n) > kMaxTerms) break;
          NormalForm power = args[0];
          for (int i = 1; i < n; ++i) power = forms_.Product(power, args[0]);
          return power;
        }
        break;
      }
      case ScalarFn::kWhere: {
        // z * where(c, x, y) = where(c, z * x, z * y) fails if z is infinite: inf * 0 is NaN.
        if (laws_ != Laws::kRealOnly) break;
        TooLarge(args[1]);
        TooLarge(args[2]);
        return Sum(forms_.Product(Truth(args[0]), Sum(args[1], Scaled(args[2], -1))),
                   forms_.Substitute(args[2], {}));
      }
      default:
        break;
    }
  }
  return OfAtom(FnAtom(lemma::Info(e.fn()).name, std::move(args)));
}

NormalForm FormBuilder::Reduce(const ScalarExpr& e, const Env& env) {
  Env inner = env;
  std::vector<Leaf> axes;
  Facts ranges;
  for (const Axis& axis : e.axes()) {
    const Poly extent = Index(axis.extent, inner);
    const Leaf leaf = leaves_.NewVar("k");
    axes.push_back(leaf);
    inner[axis.var] = Poly::Of(leaf);
    ranges.push_back(Fact::Ge(Poly::Of(leaf)));
    ranges.push_back(Fact::Ge(extent - 1 - Poly::Of(leaf)));
  }
  const ReduceKind kind = e.reduce();
  NormalForm body = Scalar(e.args()[0], inner);
  const std::vector<Facts> cases = Cases(e.guard(), true, inner);
  bool ordered = laws_ == Laws::kNone;
  Span bound;  // of an exact sum
  if (laws_ == Laws::kExact) {
    // Every partial sum in any order is exact if the sum of all magnitudes is.
    Summand all;
    all.axes = axes;
    all.guards = ranges;
    all.atoms = {FnAtom("value", {body})};
    ordered = kind != ReduceKind::kSum || !IsExactSum(all, body, &bound);
  }
  if (kind == ReduceKind::kSum && !ordered) {
    NormalForm sum;
    for (const Facts& guards : cases) {
      for (const Summand& term : body.terms) {
        Summand t = term;
        t.axes.insert(t.axes.begin(), axes.begin(), axes.end());
        t.guards.insert(t.guards.end(), ranges.begin(), ranges.end());
        t.guards.insert(t.guards.end(), guards.begin(), guards.end());
        sum.terms.push_back(forms_.Renamed(t));
      }
    }
    TooLarge(sum);
    if (laws_ == Laws::kExact) normalizer_->Remember(sum, bound);
    return sum;
  }
  if (kind == ReduceKind::kMax || kind == ReduceKind::kMin) {
    const int sign = kind == ReduceKind::kMax || ordered ? 1 : -1;
    Atom atom;
    atom.kind = Atom::Kind::kMax;
    atom.name = kind == ReduceKind::kMin && ordered ? "min" : "max";
    for (const Facts& guards : cases) {
      Facts all = ranges;
      all.insert(all.end(), guards.begin(), guards.end());
      atom.alternatives.push_back({axes, std::move(all), Share(Scaled(body, sign))});
    }
    return Scaled(OfAtom(forms_.Substitute(atom, {})), sign);
  }
  // An ordered reduction cannot be split into cases.
  if (cases.size() != 1) {
    if (cases.empty()) return OfAtom(FnAtom(absl::StrCat(Name(kind), "_empty"), {}));
    if (error_.empty()) error_ = "a reduction has a disjunction as its condition";
    return {};
  }
  Atom atom;
  atom.kind = Atom::Kind::kReduce;
  atom.name = Name(kind);
  Facts all = ranges;
  all.insert(all.end(), cases[0].begin(), cases[0].end());
  atom.alternatives = {{axes, std::move(all), Share(std::move(body))}};
  return OfAtom(std::move(atom));
}

NormalForm FormBuilder::Select(const ScalarExpr& e, const NormalForm& then,
                               const NormalForm& otherwise, const Env& env) {
  NormalForm result;
  for (bool positive : {true, false}) {
    for (const Facts& guards : Cases(e.guard(), positive, env)) {
      result = Sum(result, Guarded(forms_.Substitute(positive ? then : otherwise, {}), guards));
    }
  }
  TooLarge(result);
  return result;
}

bool FormBuilder::Representable(const NormalForm& form, DType dtype) const {
  return std::all_of(form.terms.begin(), form.terms.end(),
                     [&](const Summand& term) { return Representable(term, dtype); });
}

bool FormBuilder::Representable(const Summand& term, DType dtype) const {
  if (!term.axes.empty() || term.denominator != 1) return false;
  if (term.atoms.empty()) {
    auto number = term.coefficient.AsConst();
    return number && Holds(dtype, static_cast<double>(*number));
  }
  return term.atoms.size() == 1 && term.coefficient == Poly(1) &&
         Representable(term.atoms[0], dtype);
}

bool FormBuilder::Representable(const Atom& atom, DType dtype) const {
  auto args = [&](size_t from) {
    return std::all_of(atom.args.begin() + from, atom.args.end(),
                       [&](const NormalFormPtr& arg) { return Representable(*arg, dtype); });
  };
  switch (atom.kind) {
    case Atom::Kind::kRead:
      return Holds(dtype, definition_.inputs[atom.tensor].dtype);
    case Atom::Kind::kConstant: {
      double value = 0;
      return atom.name.rfind("c:", 0) == 0 && absl::SimpleAtod(atom.name.substr(2), &value) &&
             Holds(dtype, value);
    }
    case Atom::Kind::kMax:
      return std::all_of(
          atom.alternatives.begin(), atom.alternatives.end(),
          [&](const Alternative& alternative) { return Representable(*alternative.value, dtype); });
    case Atom::Kind::kFn:
      break;
    default:
      return false;
  }
  if (atom.name == RoundingTo(dtype)) return true;
  for (int i = 0; i < kNumScalarFns; ++i) {
    const ScalarFn fn = static_cast<ScalarFn>(i);
    if (!atom.Is(fn)) continue;
    return Info(fn).truth() || (Info(fn).exact() && args(fn == ScalarFn::kWhere ? 1 : 0));
  }
  return false;
}

// An operator rounds a computed value once, when it stores it. A value that is only selected or
// moved already has the type. Where arithmetic is uninterpreted, summands exclude each other and
// have no axes.
NormalForm FormBuilder::Rounded(NormalForm form, DType dtype) const {
  for (Summand& term : form.terms) {
    if (Representable(term, dtype)) continue;
    NormalForm value;
    value.terms.push_back(std::move(term));
    term = Summand();
    term.guards = std::move(value.terms[0].guards);
    value.terms[0].guards.clear();
    term.atoms = {FnAtom(RoundingTo(dtype), {std::move(value)})};
  }
  return form;
}

NormalForm FormBuilder::Scalar(const ScalarExpr& e, const Env& env) {
  if (++scalars_ > kMaxScalars && error_.empty()) error_ = "the expression is too large";
  if (!error_.empty()) return {};
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return Constant(e.value());
    case ScalarExpr::Kind::kParam: {
      Atom atom;
      atom.kind = Atom::Kind::kConstant;
      atom.name = absl::StrCat("p:", e.name());
      return OfAtom(std::move(atom));
    }
    case ScalarExpr::Kind::kIndex:
      return Number(Index(e.index(), env));
    case ScalarExpr::Kind::kRead: {
      std::vector<Poly> at;
      for (const IndexExpr& i : e.indices()) at.push_back(Index(i, env));
      return Element(e.tensor(), at);
    }
    case ScalarExpr::Kind::kApply:
      return Apply(e, env);
    case ScalarExpr::Kind::kSelect:
      return Select(e, Scalar(e.args()[0], env), Scalar(e.args()[1], env), env);
    case ScalarExpr::Kind::kReduce:
      return Reduce(e, env);
  }
  return {};
}

NormalForm FormBuilder::ValueIn(TensorId tensor, const ScalarExpr& e, const Env& env) {
  const bool rounds = (laws_ == Laws::kNone || laws_ == Laws::kExact) && operators_ != nullptr;
  const int own = rounds ? operators_->at(tensor - definition_.num_inputs()) : -1;
  const int reader = std::exchange(reader_, own);
  NormalForm value = Scalar(e, env);
  reader_ = reader;
  return value;
}

NormalForm FormBuilder::Element(TensorId tensor, const std::vector<Poly>& at) {
  if (tensor < definition_.num_inputs()) {
    Atom atom;
    atom.kind = Atom::Kind::kRead;
    atom.tensor = tensor;
    atom.index = at;
    return OfAtom(std::move(atom));
  }
  const TensorExpr& body = definition_.tensors[tensor - definition_.num_inputs()];
  Env env;
  for (size_t i = 0; i < body.axes.size(); ++i) env[body.axes[i].var] = at[i];
  const bool rounds = (laws_ == Laws::kNone || laws_ == Laws::kExact) && operators_ != nullptr;
  const int own = rounds ? operators_->at(tensor - definition_.num_inputs()) : -1;
  const int reader = std::exchange(reader_, own);
  if (laws_ == Laws::kExact) {
    const Computation computation = Enter(body);
    NormalForm exact = Scalar(body.body, env);
    reader_ = reader;
    computation_ = computation;
    if (!error_.empty()) return {};
    return StoredExactly(std::move(exact), body, rounds && own != reader);
  }
  NormalForm value = Scalar(body.body, env);
  reader_ = reader;
  std::string storage = IntegerStorage(definition_, body);
  if (!storage.empty()) value = OfAtom(FnAtom(std::move(storage), {std::move(value)}));
  if (!rounds || own == reader || !IsFloat(body.dtype)) return value;
  return Rounded(std::move(value), body.dtype);
}

}  // namespace lemma::prover
