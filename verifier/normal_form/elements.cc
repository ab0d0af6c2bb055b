#include "verifier/normal_form/elements.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "base/work.h"
#include "graph/expr/arithmetic.h"

namespace lemma::prover {
namespace {

using Env = std::map<VarId, Poly>;

constexpr size_t kMost = 400;

// Whether `fn` is exact on integers.
bool KeepsIntegers(ScalarFn fn) { return Info(fn).keeps_integers() || Info(fn).discontinuous(); }

// Says which expressions compute with floats.
class Floats {
 public:
  explicit Floats(const Definition& definition) {
    for (const ExprType& input : definition.inputs) tensors_.push_back(IsFloat(input.dtype));
    for (const TensorExpr& tensor : definition.tensors) {
      tensors_.push_back(IsFloat(tensor.dtype) || In(tensor.body));
    }
  }

  bool Tensor(TensorId id) const { return tensors_[static_cast<size_t>(id)]; }
  bool In(const ScalarExpr& e) const {
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
        return e.value() != std::floor(e.value());
      case ScalarExpr::Kind::kParam:
        return true;
      case ScalarExpr::Kind::kIndex:
        return In(e.index());
      case ScalarExpr::Kind::kRead:
        return Tensor(e.tensor()) || std::any_of(e.indices().begin(), e.indices().end(),
                                                 [&](const IndexExpr& i) { return In(i); });
      case ScalarExpr::Kind::kApply:
        if (!KeepsIntegers(e.fn())) return true;
        break;
      default:
        break;
    }
    return std::any_of(e.args().begin(), e.args().end(),
                       [&](const ScalarExpr& arg) { return In(arg); });
  }

 private:
  bool In(const IndexExpr& e) const {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
      case IndexExpr::Kind::kSymbol:
      case IndexExpr::Kind::kVar:
        return false;
      case IndexExpr::Kind::kLoad:
        return In(ScalarExpr(e.load()));
      default:
        return In(e.lhs()) || In(e.rhs());
    }
  }

  std::vector<bool> tensors_;
};

// The axes and guards of the sums and conditions around an expression.
struct Place {
  std::vector<Leaf> axes;
  Facts guards;
};

class Collector {
 public:
  Collector(NormalForms* forms, const Definition& definition, const std::vector<int>* operators,
            const LeafMap& symbols, const std::vector<bool>& finite)
      : forms_(*forms),
        leaves_(forms->leaves()),
        definition_(definition),
        finite_(finite),
        floats_(definition),
        builder_(forms, definition, Laws::kNone, symbols, operators),
        interpreted_(forms, definition, Laws::kRing, symbols, operators) {}

  Elements Run(TensorId tensor, const std::vector<Poly>& at) {
    Element(tensor, at, {}, true);
    result_.complete = result_.complete && builder_.error().empty() && interpreted_.error().empty();
    return std::move(result_);
  }

 private:
  // `discontinuities`: whether to list these. Inside a discontinuity they are not listed again.
  void Element(TensorId tensor, const std::vector<Poly>& at, const Place& place,
               bool discontinuities) {
    for (const Poly& p : at) result_.complete = result_.complete && !p.overflowed();
    if (!result_.complete || !seen_.insert({tensor, at, place.guards, discontinuities}).second)
      return;
    if (seen_.size() > 20 * kMost) result_.complete = false;
    if (tensor < definition_.num_inputs()) {
      const bool finite =
          static_cast<size_t>(tensor) < finite_.size() && finite_[static_cast<size_t>(tensor)];
      if (finite || !IsFloat(definition_.inputs[tensor].dtype)) return;
      Atom read;
      read.kind = Atom::Kind::kRead;
      read.tensor = tensor;
      read.index = at;
      Add(&result_.reads[tensor], place, OfAtom(std::move(read)));
      return;
    }
    const TensorExpr& body = definition_.tensors[tensor - definition_.num_inputs()];
    if (discontinuities && !IsFloat(body.dtype) && floats_.In(body.body)) {
      AddDiscontinuity(builder_.Element(tensor, at), place);  // stored as integers
      discontinuities = false;
    }
    Env env;
    for (size_t i = 0; i < body.axes.size(); ++i) env[body.axes[i].var] = at[i];
    Scalar(tensor, body.body, env, place, discontinuities);
  }

  void Scalar(TensorId tensor, const ScalarExpr& e, const Env& env, const Place& place,
              bool discontinuities) {
    SpendWork(4);
    if (!result_.complete) return;
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
      case ScalarExpr::Kind::kParam:
        return;
      case ScalarExpr::Kind::kIndex:
        return Index(tensor, e.index(), env, place, discontinuities);
      case ScalarExpr::Kind::kRead: {
        std::vector<Poly> at;
        for (const IndexExpr& i : e.indices()) {
          Index(tensor, i, env, place, discontinuities);
          at.push_back(builder_.Index(i, env));
        }
        return Element(e.tensor(), at, place, discontinuities);
      }
      case ScalarExpr::Kind::kApply:
        return Apply(tensor, e, env, place, discontinuities);
      case ScalarExpr::Kind::kSelect:
        Condition(tensor, e.guard(), env, place, discontinuities);
        for (int branch = 0; branch < 2; ++branch) {
          for (const Facts& guards : builder_.Cases(e.guard(), branch == 0, env)) {
            Scalar(tensor, e.args()[branch], env, {place.axes, With(place.guards, guards)},
                   discontinuities);
          }
        }
        return;
      case ScalarExpr::Kind::kReduce: {
        Env inner = env;
        Place here = place;
        for (const Axis& axis : e.axes()) {
          const Poly extent = builder_.Index(axis.extent, inner);
          const Leaf leaf = leaves_.NewVar("k");
          here.axes.push_back(leaf);
          inner[axis.var] = Poly::Of(leaf);
          here.guards.push_back(Fact::Ge(Poly::Of(leaf)));
          here.guards.push_back(Fact::Ge(extent - 1 - Poly::Of(leaf)));
        }
        Condition(tensor, e.guard(), inner, here, discontinuities);
        for (const Facts& guards : builder_.Cases(e.guard(), true, inner)) {
          Scalar(tensor, e.args()[0], inner, {here.axes, With(here.guards, guards)},
                 discontinuities);
        }
        return;
      }
    }
  }

  void Apply(TensorId tensor, const ScalarExpr& e, const Env& env, const Place& place,
             bool discontinuities) {
    const bool where = e.fn() == ScalarFn::kWhere;
    const ScalarExpr& decides = where ? e.args()[0] : e;
    const bool discontinuous =
        discontinuities && (where || Info(e.fn()).discontinuous()) && floats_.In(decides);
    if (discontinuous) AddDiscontinuity(builder_.ValueIn(tensor, decides, env), place);
    if (Info(e.fn()).partial()) Partial(e.fn(), interpreted_.ValueIn(tensor, e, env), place);
    for (size_t i = 0; i < e.args().size(); ++i) {
      const bool inside = where ? i == 0 : Info(e.fn()).discontinuous();
      Scalar(tensor, e.args()[i], env, place, discontinuities && !inside);
    }
  }

  // Visits the integers that tensors hold.
  void Index(TensorId tensor, const IndexExpr& e, const Env& env, const Place& place,
             bool discontinuities) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
      case IndexExpr::Kind::kSymbol:
      case IndexExpr::Kind::kVar:
        return;
      case IndexExpr::Kind::kLoad:
        return Scalar(tensor, ScalarExpr(e.load()), env, place, discontinuities);
      default:
        Index(tensor, e.lhs(), env, place, discontinuities);
        Index(tensor, e.rhs(), env, place, discontinuities);
    }
  }

  void Condition(TensorId tensor, const Guard& g, const Env& env, const Place& place,
                 bool discontinuities) {
    switch (g.kind()) {
      case Guard::Kind::kTrue:
      case Guard::Kind::kFalse:
        return;
      case Guard::Kind::kLe:
      case Guard::Kind::kEq:
        Index(tensor, g.lhs(), env, place, discontinuities);
        Index(tensor, g.rhs(), env, place, discontinuities);
        return;
      case Guard::Kind::kNot:
        Condition(tensor, g.left(), env, place, discontinuities);
        return;
      default:
        Condition(tensor, g.left(), env, place, discontinuities);
        Condition(tensor, g.right(), env, place, discontinuities);
    }
  }

  // Lists a discontinuity. Bit for bit, f(g(x)) = g(x) and f(max(x, y)) = max(f(x), f(y)) for
  // rounding functions, and f(-x) = -f(x) for some. So these are discontinuous where g(x), where
  // f(x) and f(y), and where f(x) is.
  void AddDiscontinuity(const NormalForm& form, const Place& place) {
    const Atom* atom = OnlyAtom(form);
    if (atom != nullptr && atom->kind == Atom::Kind::kConstant) return;
    if (atom != nullptr &&
        (atom->Is(ScalarFn::kSign) || atom->Is(ScalarFn::kRound) || atom->Is(ScalarFn::kTrunc))) {
      const Atom* arg = OnlyAtom(*atom->args[0]);
      if (arg != nullptr && arg->Is(ScalarFn::kNeg)) {
        return AddDiscontinuity(OfAtom(FnAtom(atom->name, {*arg->args[0]})), place);
      }
    }
    if (atom != nullptr && RoundingOf(*atom)) {
      const Atom* arg = OnlyAtom(*atom->args[0]);
      if (arg != nullptr && RoundingOf(*arg)) return AddDiscontinuity(OfAtom(*arg), place);
      if (arg != nullptr && arg->kind == Atom::Kind::kConstant) return;
      if (arg != nullptr && arg->kind == Atom::Kind::kMax) {
        const std::string name = atom->name;
        const Atom max = forms_.Substitute(*arg, {});
        for (const Alternative& a : max.alternatives) {
          Place inside = place;
          inside.axes.insert(inside.axes.end(), a.axes.begin(), a.axes.end());
          inside.guards = With(inside.guards, a.guards);
          AddDiscontinuity(OfAtom(FnAtom(name, {*a.value})), inside);
        }
        return;
      }
    }
    Add(&result_.discontinuities, place, OfAtom(FnAtom("jump", {form})));
  }

  // Skips numbers, and whole powers, which are products.
  void Partial(ScalarFn fn, NormalForm form, const Place& place) {
    const bool takes = std::any_of(form.terms.begin(), form.terms.end(), [&](const Summand& t) {
      return std::any_of(t.atoms.begin(), t.atoms.end(), [&](const Atom& atom) {
        return fn != ScalarFn::kPow || atom.Is(ScalarFn::kPow) || atom.Is(ScalarFn::kSqrt);
      });
    });
    if (takes) Add(&result_.partial, place, std::move(form));
  }

  // Gives the alternative axes of its own.
  void Add(std::vector<Alternative>* to, const Place& place, NormalForm value) {
    if (to->size() >= kMost) result_.complete = false;
    Atom shell;
    shell.kind = Atom::Kind::kMax;
    shell.alternatives = {{place.axes, place.guards, Share(std::move(value))}};
    to->push_back(forms_.Substitute(shell, {}).alternatives[0]);
  }

  NormalForms& forms_;
  Leaves& leaves_;
  const Definition& definition_;
  const std::vector<bool>& finite_;
  const Floats floats_;
  FormBuilder builder_, interpreted_;
  std::set<std::tuple<TensorId, std::vector<Poly>, Facts, bool>> seen_;
  Elements result_;
};

// The added value keeps it a maximum however few values it has, such as x[i] alone or x[i] for each
// k < n.
NormalForm SetOf(std::vector<Alternative> alternatives) {
  Atom atom;
  atom.kind = Atom::Kind::kMax;
  atom.name = "max";
  atom.alternatives = std::move(alternatives);
  atom.alternatives.push_back({{}, {}, Share(OfAtom(FnAtom("nothing", {})))});
  return OfAtom(std::move(atom));
}

// An alternative has the points of a sum of its values. A rewrite of the sum that leaves all
// coefficients 1 maps points to points.
void SimplifySet(Normalizer* normalizer, const Facts& facts, std::vector<Alternative>* set) {
  std::vector<Alternative> simpler;
  for (Alternative& alternative : *set) {
    const Atom* value = OnlyAtom(*alternative.value);
    std::vector<Summand> terms;
    if (value != nullptr) {
      Summand sum;
      sum.axes = alternative.axes;
      sum.guards = alternative.guards;
      sum.atoms = {*value};
      normalizer->SimplifyTerm(std::move(sum), facts, &terms);
    }
    const bool plain =
        value != nullptr && std::all_of(terms.begin(), terms.end(), [](const Summand& t) {
          return t.atoms.size() == 1 && t.coefficient == Poly(1) && t.denominator == 1;
        });
    if (!plain) simpler.push_back(alternative);
    for (size_t i = 0; i < terms.size() && plain; ++i) {
      simpler.push_back({terms[i].axes, terms[i].guards, Share(OfAtom(terms[i].atoms[0]))});
    }
  }
  *set = std::move(simpler);
}

bool IsDiscontinuousIn(const Floats& floats, const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kApply) {
    if (e.fn() == ScalarFn::kWhere ? floats.In(e.args()[0])
                                   : Info(e.fn()).discontinuous() && floats.In(e)) {
      return true;
    }
  }
  return std::any_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return IsDiscontinuousIn(floats, arg); });
}

}  // namespace

Elements ElementsOf(NormalForms* forms, const Definition& definition,
                    const std::vector<int>* operators, const LeafMap& symbols,
                    const std::vector<bool>& finite, TensorId tensor, const std::vector<Poly>& at) {
  return Collector(forms, definition, operators, symbols, finite).Run(tensor, at);
}

void Simplify(Normalizer* normalizer, const Facts& facts, Elements* elements) {
  SimplifySet(normalizer, facts, &elements->discontinuities);
  for (auto& [tensor, reads] : elements->reads) SimplifySet(normalizer, facts, &reads);
}

void SimplifyPartial(Normalizer* normalizer, const Facts& facts, Elements* elements) {
  SimplifySet(normalizer, facts, &elements->partial);
}

// Sets are written as maxima, since the prover compares these as sets of values.
std::vector<NormalForm> FormsOf(const Elements& a, const Elements& b) {
  std::set<TensorId> read;
  for (const Elements* side : {&a, &b}) {
    for (const auto& [tensor, unused] : side->reads) read.insert(tensor);
  }
  std::vector<NormalForm> forms;
  for (const Elements* side : {&a, &b}) {
    std::vector<NormalForm> sets = {SetOf(side->discontinuities)};
    for (TensorId tensor : read) {
      auto it = side->reads.find(tensor);
      sets.push_back(SetOf(it == side->reads.end() ? std::vector<Alternative>() : it->second));
    }
    forms.push_back(OfAtom(FnAtom("elements", std::move(sets))));
  }
  return forms;
}

std::vector<NormalForm> PartialFormsOf(const Elements& a, const Elements& b) {
  return {SetOf(a.partial), SetOf(b.partial)};
}

bool IsDiscontinuous(const Definition& definition) {
  const Floats floats(definition);
  return std::any_of(definition.tensors.begin(), definition.tensors.end(),
                     [&](const TensorExpr& tensor) {
                       return (!IsFloat(tensor.dtype) && floats.In(tensor.body)) ||
                              IsDiscontinuousIn(floats, tensor.body);
                     });
}

}  // namespace lemma::prover
