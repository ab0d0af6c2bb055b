#include "verifier/identities/unroll.h"

#include <algorithm>
#include <utility>

#include "base/work.h"

namespace lemma::prover {
namespace {

constexpr int64_t kMostValues = 16;
// Of summands in one form: what is larger stays as it is.
constexpr size_t kMostUnrolledTerms = 600;

int64_t FloorOf(int64_t n, int64_t d) { return n / d - (n % d < 0 ? 1 : 0); }

class Unroller {
 public:
  Unroller(NormalForms* forms, Laws laws) : forms_(*forms), leaves_(forms->leaves()), laws_(laws) {}

  NormalForm Form(const NormalForm& form) {
    NormalForm result;
    for (const Summand& term : form.terms) {
      for (Summand& t : Term(term).terms) result.terms.push_back(std::move(t));
    }
    return result.terms.size() > kMostUnrolledTerms ? form : result;
  }
  bool changed() const { return changed_; }

 private:
  NormalForm Term(const Summand& given) {
    SpendWork(static_cast<int64_t>(4 + given.atoms.size()));
    for (size_t a = 0; a < given.axes.size(); ++a) {
      const Leaf axis = given.axes[a];
      const auto range = SmallRange(given.guards, axis);
      if (!range) continue;
      changed_ = true;
      Summand rest = given;
      rest.axes.erase(rest.axes.begin() + a);
      NormalForm result;
      for (int64_t v = range->low; v <= range->high; ++v) {
        for (Summand& t : Term(forms_.Substitute(rest, {{axis, Poly(v)}})).terms) {
          result.terms.push_back(std::move(t));
        }
      }
      return result;
    }
    Summand plain = given;
    plain.atoms.clear();
    NormalForm result{{std::move(plain)}};
    for (const Atom& atom : given.atoms) result = Times(result, Factor(atom));
    return result;
  }

  // The product of each summand and the factor, which may mention the summand's axes.
  NormalForm Times(const NormalForm& form, const NormalForm& factor) {
    NormalForm result;
    for (const Summand& term : form.terms) {
      for (const Summand& t : factor.terms) {
        const Summand other = forms_.Renamed(t);
        Summand product = term;
        product.coefficient = product.coefficient * other.coefficient;
        if (__builtin_mul_overflow(product.denominator, other.denominator, &product.denominator)) {
          product.coefficient = Poly::Of(Monomial{}, INT64_MAX) * INT64_MAX;
        }
        product.axes.insert(product.axes.end(), other.axes.begin(), other.axes.end());
        product.guards.insert(product.guards.end(), other.guards.begin(), other.guards.end());
        product.atoms.insert(product.atoms.end(), other.atoms.begin(), other.atoms.end());
        result.terms.push_back(std::move(product));
      }
    }
    return result;
  }

  NormalForm Factor(const Atom& given) {
    Atom atom = given;
    for (NormalFormPtr& arg : atom.args) arg = Share(Form(*arg));
    if (atom.kind == Atom::Kind::kReduce && laws_ != Laws::kNone) {
      for (Alternative& alternative : atom.alternatives) {
        alternative.value = Share(Form(*alternative.value));
      }
      if (auto product = Product(atom)) return *std::move(product);
    }
    if (atom.kind == Atom::Kind::kMax) {
      std::vector<Alternative> all;
      for (const Alternative& alternative : atom.alternatives) Values(alternative, &all);
      atom.alternatives = std::move(all);
    }
    return OfAtom(std::move(atom));
  }

  // The product of all values, if there are few and no guard excludes one.
  std::optional<NormalForm> Product(const Atom& atom) {
    if (atom.name != Name(ReduceKind::kProd)) return std::nullopt;
    std::vector<Alternative> values;
    Values(atom.alternatives[0], &values);
    NormalForm product = Number(1);
    for (const Alternative& value : values) {
      if (!value.axes.empty()) return std::nullopt;
      for (const Fact& fact : value.guards) {
        const auto c = fact.p.AsConst();
        if (!c || fact.kind != Fact::Kind::kGe || *c < 0) return std::nullopt;
      }
      if (product.terms.size() * value.value->terms.size() > kMostUnrolledTerms)
        return std::nullopt;
      product = forms_.Product(product, *value.value);
    }
    return product;
  }

  void Values(const Alternative& given, std::vector<Alternative>* all) {
    for (size_t a = 0; a < given.axes.size(); ++a) {
      const Leaf axis = given.axes[a];
      const auto range = SmallRange(given.guards, axis);
      if (!range) continue;
      changed_ = true;
      Alternative rest = given;
      rest.axes.erase(rest.axes.begin() + a);
      for (int64_t v = range->low; v <= range->high; ++v) {
        Atom shell;
        shell.kind = Atom::Kind::kMax;
        shell.alternatives = {rest};
        Values(forms_.Substitute(shell, {{axis, Poly(v)}}).alternatives[0], all);
      }
      return;
    }
    all->push_back(given);
    all->back().value = Share(Form(*given.value));
  }

  NormalForms& forms_;
  Leaves& leaves_;
  const Laws laws_;
  bool changed_ = false;
};

}  // namespace

std::optional<Range> SmallRange(const Facts& facts, Leaf leaf) {
  std::optional<int64_t> low, high;
  for (const Fact& fact : facts) {
    if (fact.kind != Fact::Kind::kGe || fact.p.overflowed()) continue;
    const int64_t c = fact.p.CoefficientOf({leaf});
    const auto rest = (fact.p - Poly::Of(Monomial{leaf}, c)).AsConst();
    if (c == 0 || !rest || *rest == INT64_MIN) continue;
    if (c > 0) {
      const int64_t bound = -FloorOf(*rest, c);  // c * leaf + rest >= 0
      if (!low || *low < bound) low = bound;
    } else {
      const int64_t bound = FloorOf(*rest, -c);
      if (!high || *high > bound) high = bound;
    }
  }
  if (!low || !high || *low > *high || *high - *low >= kMostValues) return std::nullopt;
  return Range{*low, *high};
}

NormalForm Unrolled(NormalForms* forms, Laws laws, const NormalForm& form, bool* changed) {
  Unroller unroller(forms, laws);
  NormalForm result = unroller.Form(form);
  *changed = *changed || unroller.changed();
  return result;
}

}  // namespace lemma::prover
