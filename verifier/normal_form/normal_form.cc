#include "verifier/normal_form/normal_form.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/work.h"

namespace lemma::prover {
const Atom* OnlyAtom(const NormalForm& form) {
  if (form.terms.size() != 1) return nullptr;
  const Summand& term = form.terms[0];
  const bool alone = term.atoms.size() == 1 && IsPlain(term) && term.coefficient == Poly(1) &&
                     term.denominator == 1;
  return alone ? &term.atoms[0] : nullptr;
}

bool Contains(const std::vector<Leaf>& leaves, Leaf leaf) {
  return std::find(leaves.begin(), leaves.end(), leaf) != leaves.end();
}

NormalFormPtr Share(NormalForm form) { return std::make_shared<const NormalForm>(std::move(form)); }

NormalForm Number(const Poly& value, int64_t denominator) {
  NormalForm form;
  if (value.IsZero()) return form;
  Summand term;
  term.coefficient = value;
  term.denominator = denominator;
  form.terms.push_back(std::move(term));
  return form;
}

NormalForm OfAtom(Atom atom) {
  Summand term;
  term.atoms.push_back(std::move(atom));
  return NormalForm{{std::move(term)}};
}

Atom FnAtom(std::string name, std::vector<NormalForm> args) {
  Atom atom;
  atom.kind = Atom::Kind::kFn;
  atom.name = std::move(name);
  for (NormalForm& arg : args) atom.args.push_back(Share(std::move(arg)));
  return atom;
}

NormalForm FnForm(ScalarFn fn, std::vector<NormalForm> args) {
  return OfAtom(FnAtom(Info(fn).name, std::move(args)));
}

NormalForm Reciprocal(const NormalForm& x) {
  Atom atom;
  atom.kind = Atom::Kind::kInverse;
  atom.args = {Share(x)};
  return OfAtom(std::move(atom));
}

NormalForm Sum(const NormalForm& a, const NormalForm& b) {
  NormalForm form = a;
  form.terms.insert(form.terms.end(), b.terms.begin(), b.terms.end());
  return form;
}

NormalForm Scaled(const NormalForm& a, int64_t factor) {
  NormalForm form = a;
  for (Summand& term : form.terms) term.coefficient = term.coefficient * factor;
  return form;
}

std::optional<Content> ContentOfAll(const NormalForm& form) {
  Content result;
  for (const Summand& t : form.terms) {
    if (t.coefficient.overflowed() || t.coefficient.IsZero()) return std::nullopt;
    if (__builtin_mul_overflow(result.common,
                               t.denominator / std::gcd(result.common, t.denominator),
                               &result.common)) {
      return std::nullopt;
    }
  }
  for (const Summand& t : form.terms) {
    int64_t scaled = 0;
    if ((t.coefficient * (result.common / t.denominator)).overflowed() ||
        __builtin_mul_overflow(ContentOf(t.coefficient), result.common / t.denominator, &scaled)) {
      return std::nullopt;
    }
    result.content = std::gcd(result.content, scaled);
  }
  return result.content == 0 ? std::nullopt : std::optional<Content>(result);
}

NormalForm WithoutContent(NormalForm form, const Content& content) {
  for (Summand& t : form.terms) {
    t.coefficient =
        *ExactQuotient(t.coefficient * (content.common / t.denominator), content.content);
    t.denominator = 1;
  }
  return form;
}

NormalForms::NormalForms(Leaves* leaves) : leaves_(*leaves) {
  leaves_.substitute_load = [this](const LeafInfo& load, const LeafMap& map) {
    NormalForm form = Substitute(*load.load, map);
    std::vector<Leaf> deps;
    CollectDeps(form, &deps);
    auto saved = std::move(bound_);
    bound_.clear();
    std::string text = Key(form);
    bound_ = std::move(saved);
    return leaves_.Load(Share(std::move(form)), std::move(text), std::move(deps));
  };
}

NormalForm NormalForms::Product(const NormalForm& a, const NormalForm& b) {
  NormalForm form;
  for (const Summand& x : a.terms) {
    for (const Summand& y : b.terms) {
      Summand product = Renamed(x), other = Renamed(y);
      product.coefficient = product.coefficient * other.coefficient;
      if (__builtin_mul_overflow(product.denominator, other.denominator, &product.denominator)) {
        product.coefficient = product.coefficient + Poly::Of(Monomial{}, INT64_MAX) * INT64_MAX;
      }
      product.axes.insert(product.axes.end(), other.axes.begin(), other.axes.end());
      product.guards.insert(product.guards.end(), other.guards.begin(), other.guards.end());
      product.atoms.insert(product.atoms.end(), other.atoms.begin(), other.atoms.end());
      form.terms.push_back(std::move(product));
    }
  }
  return form;
}

Facts NormalForms::Substitute(const Facts& facts, const LeafMap& map) {
  Facts result;
  for (const Fact& fact : facts) result.push_back({fact.kind, leaves_.Substitute(fact.p, map)});
  return result;
}

Atom NormalForms::Substitute(const Atom& atom, const LeafMap& map) {
  SpendWork(4);
  Atom result = atom;
  for (Poly& p : result.index) p = leaves_.Substitute(p, map);
  for (NormalFormPtr& arg : result.args) arg = Share(Substitute(*arg, map));
  for (Alternative& alternative : result.alternatives) {
    LeafMap inner = map;
    for (Leaf& axis : alternative.axes) {
      Leaf fresh = leaves_.NewVar("k");
      inner[axis] = Poly::Of(fresh);
      axis = fresh;
    }
    alternative.guards = Substitute(alternative.guards, inner);
    alternative.value = Share(Substitute(*alternative.value, inner));
  }
  return result;
}

Summand NormalForms::Substitute(const Summand& term, const LeafMap& map) {
  Summand result = term;
  result.coefficient = leaves_.Substitute(term.coefficient, map);
  result.guards = Substitute(term.guards, map);
  for (Atom& atom : result.atoms) atom = Substitute(atom, map);
  return result;
}

Summand NormalForms::Renamed(const Summand& term) {
  LeafMap map;
  std::vector<Leaf> axes;
  for (Leaf axis : term.axes) {
    axes.push_back(leaves_.NewVar("k"));
    map[axis] = Poly::Of(axes.back());
  }
  Summand result = Substitute(term, map);
  result.axes = std::move(axes);
  return result;
}

NormalForm NormalForms::Substitute(const NormalForm& form, const LeafMap& map) {
  NormalForm result;
  for (const Summand& term : form.terms) {
    LeafMap inner = map;
    std::vector<Leaf> axes;
    for (Leaf axis : term.axes) {
      axes.push_back(leaves_.NewVar("k"));
      inner[axis] = Poly::Of(axes.back());
    }
    Summand substituted = Substitute(term, inner);
    substituted.axes = std::move(axes);
    result.terms.push_back(std::move(substituted));
  }
  return result;
}

bool NormalForms::Mentions(const Facts& facts, Leaf leaf) const {
  return std::any_of(facts.begin(), facts.end(),
                     [&](const Fact& fact) { return leaves_.Mentions(fact.p, leaf); });
}

bool NormalForms::Mentions(const Atom& atom, Leaf leaf) const {
  for (const Poly& p : atom.index) {
    if (leaves_.Mentions(p, leaf)) return true;
  }
  for (const NormalFormPtr& arg : atom.args) {
    if (Mentions(*arg, leaf)) return true;
  }
  for (const Alternative& alternative : atom.alternatives) {
    if (Mentions(alternative.guards, leaf) || Mentions(*alternative.value, leaf)) return true;
  }
  return false;
}

bool NormalForms::Mentions(const NormalForm& form, Leaf leaf) const {
  for (const Summand& term : form.terms) {
    if (leaves_.Mentions(term.coefficient, leaf) || Mentions(term.guards, leaf)) return true;
    for (const Atom& atom : term.atoms) {
      if (Mentions(atom, leaf)) return true;
    }
  }
  return false;
}

void NormalForms::CollectDeps(const NormalForm& form, std::vector<Leaf>* deps) const {
  std::set<Leaf> all(deps->begin(), deps->end());
  auto add = [&](const Poly& p) {
    for (Leaf leaf : leaves_.DepsOf(p)) all.insert(leaf);
  };
  std::function<void(const NormalForm&)> visit = [&](const NormalForm& f) {
    for (const Summand& term : f.terms) {
      add(term.coefficient);
      for (const Fact& fact : term.guards) add(fact.p);
      for (const Atom& atom : term.atoms) {
        for (const Poly& p : atom.index) add(p);
        for (const NormalFormPtr& arg : atom.args) visit(*arg);
        for (const Alternative& alternative : atom.alternatives) {
          for (const Fact& fact : alternative.guards) add(fact.p);
          visit(*alternative.value);
        }
      }
    }
  };
  visit(form);
  deps->assign(all.begin(), all.end());
}

std::string NormalForms::NameOf(Leaf leaf) {
  auto it = bound_.find(leaf);
  if (it != bound_.end()) return it->second;
  const LeafInfo info = leaves_.Info(leaf);
  switch (info.kind) {
    case LeafInfo::Kind::kDiv:
      return absl::StrCat("div(", KeyOf(info.a), ",", KeyOf(info.b), ")");
    case LeafInfo::Kind::kMin:
      return absl::StrCat("min(", KeyOf(info.a), ",", KeyOf(info.b), ")");
    case LeafInfo::Kind::kMax:
      return absl::StrCat("max(", KeyOf(info.a), ",", KeyOf(info.b), ")");
    case LeafInfo::Kind::kLoad:
      return absl::StrCat("[", Key(*info.load), "]");
    default:
      return info.name;
  }
}

std::string NormalForms::KeyOf(const Poly& p) {
  if (p.overflowed()) return absl::StrCat("overflow#", leaves_.NewSymbol("o"));
  std::vector<std::string> parts;
  for (const auto& [m, c] : p.terms()) {
    std::vector<std::string> names;
    for (Leaf leaf : m) names.push_back(NameOf(leaf));
    std::sort(names.begin(), names.end());
    std::string text = absl::StrJoin(names, "*");
    if (c != 1 || m.empty()) text = absl::StrCat(c, m.empty() ? "" : "*", text);
    parts.push_back(std::move(text));
  }
  std::sort(parts.begin(), parts.end());
  return parts.empty() ? "0" : absl::StrJoin(parts, "+");
}

std::string NormalForms::KeyOf(const Facts& facts) {
  std::vector<std::string> parts;
  for (const Fact& fact : facts) {
    const char* relation = fact.kind == Fact::Kind::kGe   ? ">=0"
                           : fact.kind == Fact::Kind::kEq ? "=0"
                                                          : "!=0";
    parts.push_back(absl::StrCat(KeyOf(fact.p), relation));
  }
  std::sort(parts.begin(), parts.end());
  return absl::StrJoin(parts, " & ");
}

std::string NormalForms::KeyOf(const Alternative& alternative) {
  auto saved = bound_;
  for (size_t i = 0; i < alternative.axes.size(); ++i) {
    bound_[alternative.axes[i]] = absl::StrCat("?", bound_.size(), ".", i);
  }
  std::string text = absl::StrCat("{", alternative.axes.size(), "|", KeyOf(alternative.guards), "|",
                                  Key(*alternative.value), "}");
  bound_ = std::move(saved);
  return text;
}

std::string NormalForms::Key(const Atom& atom) {
  std::vector<std::string> parts;
  switch (atom.kind) {
    case Atom::Kind::kRead:
    case Atom::Kind::kSizeInverse:
      for (const Poly& p : atom.index) parts.push_back(KeyOf(p));
      return absl::StrCat(atom.kind == Atom::Kind::kRead ? "t" : "1/size",
                          atom.kind == Atom::Kind::kRead ? absl::StrCat(atom.tensor) : "", "[",
                          absl::StrJoin(parts, ","), "]");
    case Atom::Kind::kConstant:
      return atom.name;
    case Atom::Kind::kFn:
      for (const NormalFormPtr& arg : atom.args) parts.push_back(Key(*arg));
      return absl::StrCat(atom.name, "(", absl::StrJoin(parts, ", "), ")");
    case Atom::Kind::kInverse:
      return absl::StrCat("1/(", Key(*atom.args[0]), ")");
    case Atom::Kind::kMax:
      for (const Alternative& alternative : atom.alternatives) parts.push_back(KeyOf(alternative));
      std::sort(parts.begin(), parts.end());
      parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
      return absl::StrCat(atom.name, absl::StrJoin(parts, ""));
    case Atom::Kind::kReduce:
      return absl::StrCat(atom.name, KeyOf(atom.alternatives[0]));
  }
  return "?";
}

std::string NormalForms::Key(const Summand& term, bool with_coefficient) {
  auto saved = bound_;
  // Numbers the axes by their order in a first printing, in which they have no names.
  std::vector<std::pair<std::string, Leaf>> order;
  for (Leaf axis : term.axes) bound_[axis] = "?";
  for (Leaf axis : term.axes) {
    bound_[axis] = "!";
    std::vector<std::string> atoms;
    for (const Atom& atom : term.atoms) atoms.push_back(Key(atom));
    std::sort(atoms.begin(), atoms.end());
    order.emplace_back(absl::StrCat(absl::StrJoin(atoms, "*"), KeyOf(term.guards)), axis);
    bound_[axis] = "?";
  }
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    bound_[order[i].second] = absl::StrCat("?", saved.size(), ".", i);
  }
  std::vector<std::string> atoms;
  for (const Atom& atom : term.atoms) atoms.push_back(Key(atom));
  std::sort(atoms.begin(), atoms.end());
  std::string text;
  if (with_coefficient) {
    text = absl::StrCat("(", KeyOf(term.coefficient), ")");
    if (term.denominator != 1) absl::StrAppend(&text, "/", term.denominator);
    text += " ";
  }
  if (!term.guards.empty() || !term.axes.empty()) {
    absl::StrAppend(&text, "sum[", term.axes.size(), ": ", KeyOf(term.guards), "] ");
  }
  absl::StrAppend(&text, absl::StrJoin(atoms, " * "));
  SpendWork(static_cast<int64_t>(1 + text.size() / 4));
  bound_ = std::move(saved);
  return text;
}

std::string NormalForms::Key(const NormalForm& form) {
  std::vector<std::string> parts;
  for (const Summand& term : form.terms) parts.push_back(Key(term));
  std::sort(parts.begin(), parts.end());
  return parts.empty() ? "0" : absl::StrJoin(parts, " + ");
}

}  // namespace lemma::prover
