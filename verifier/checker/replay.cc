// Replays a proof file at small sizes.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "rewrite/rules/rule_text.h"
#include "verifier/checker/checker.h"
#include "verifier/checker/claim.h"
#include "verifier/checker/form_value.h"
#include "verifier/checker/instances.h"
#include "verifier/checker/proof_text.h"
#include "verifier/checker/sides.h"

namespace lemma::checker {
namespace {

constexpr int64_t kLeastWork = 6000;  // per form
constexpr int64_t kElements = 8;      // per output and instance
constexpr int64_t kMostSolutions = 20000;

// Laws that the checker does not have: it says nothing of such a case.
constexpr char kExact[] = "exact";

int LevelOf(absl::string_view laws) {
  if (laws == "none" || laws == kExact) return 0;
  return laws == "ring" ? 1 : laws == "real" ? 2 : -1;
}

class Replayer {
 public:
  Replayer(const ProofText& proof, const Substitution& rule, const Bounds& bounds)
      : proof_(proof), rule_(rule), bounds_(bounds) {
    for (size_t i = 0; i < proof.names.size(); ++i) names_[proof.names[i]] = static_cast<int>(i);
  }

  Replayed Run() {
    result_.steps = proof_.steps;
    Header();
    for (const Form& form : proof_.forms) {
      if (result_.problem.empty()) ReplayForm(form);
    }
    if (result_.problem.empty()) CountUncovered();
    result_.accepted = result_.problem.empty();
    return result_;
  }

 private:
  bool Reject(int line, const std::string& why) {
    if (result_.problem.empty()) result_.problem = absl::StrCat("line ", line, ": ", why, where_);
    return false;
  }

  void Header() {
    Substitution claim = rule_;
    claim.proof = {};
    if (proof_.rule != PrintRule(claim)) Reject(2, "this is a proof of another rule");
    if (!rule_.proof.id.empty() && rule_.proof.id != proof_.id) {
      Reject(3, absl::StrCat("this is proof ", proof_.id, ", not ", rule_.proof.id));
    }
    int level = 0;
    for (const Form& form : proof_.forms) {
      for (const Case& c : form.cases) {
        if (c.laws != "impossible" && LevelOf(c.laws) < 0) Reject(c.line, "unknown laws");
        level = std::max(level, LevelOf(c.laws));
        std::set<int> numbers;
        for (const Output& output : c.outputs) numbers.insert(output.number);
        const size_t outputs = c.laws == "impossible" ? 0 : rule_.source.outputs.size();
        const bool all = numbers.size() == outputs && c.outputs.size() == outputs &&
                         (outputs == 0 || (*numbers.begin() == 0 &&
                                           *numbers.rbegin() + 1 == static_cast<int>(outputs)));
        if (!all) Reject(c.line, "the case does not treat each output once");
      }
    }
    auto contract = ParseFloatContract(proof_.contract);
    if (!contract || static_cast<int>(*contract) != level) {
      Reject(3, absl::StrCat("the steps do not prove the contract ", proof_.contract));
    } else if (*contract > rule_.contract) {
      Reject(3, absl::StrCat("the rule promises ", Name(rule_.contract)));
    }
  }

  // ---- Instances ----

  void CountUncovered() {
    Bounds bounds = bounds_;
    bounds.work = std::max(kLeastWork, bounds.work / 8);
    int64_t work = 0;
    Instances instances(rule_, bounds, &work);
    instances.ForEach([&](const Instance& instance) {
      const bool covered = !instance.target_exists ||
                           std::any_of(claims_.begin(), claims_.end(), [&](const Claim& claim) {
                             return IsAbout(claim, instance, &work);
                           });
      if (!covered) ++result_.uncovered;
      return true;
    });
  }

  void ReplayForm(const Form& form) {
    auto made = ClaimOf(rule_, form);
    if (!made.ok()) {
      Reject(form.line, std::string(made.status().message()));
      return;
    }
    const Claim& claim = *made;
    claims_.push_back(claim);
    Bounds bounds = bounds_;
    bounds.work = std::max(kLeastWork, bounds.work / static_cast<int64_t>(proof_.forms.size()));
    int64_t reached = 0, work = 0;
    Instances instances(rule_, bounds, &work, claim.fixed);
    instances.ForEach([&](const Instance& instance) {
      // Otherwise it belongs to another form.
      if (!instance.target_exists || !IsAbout(claim, instance, &work)) return true;
      const auto open = OpenSymbols(claim, instance);
      ++reached;
      where_ = absl::StrCat(" (where ", Describe(rule_, instance), ")");
      const int fills = NeedsPositions(rule_, instance, &work) ? 2 : 1;
      for (int fill = 0; fill < fills; ++fill) {
        ReplayInstance(form, instance, open, fills == 1 ? 0 : fill + 2, &work);
      }
      where_.clear();
      return result_.problem.empty();
    });
    if (reached == 0) ++result_.unreached;
    for (const Case& c : form.cases) {
      for (const Output& output : c.outputs) {
        if (reached > 0 && !output.empty && evaluated_.count(&output) == 0) ++result_.unreached;
      }
    }
  }

  // ---- One instance ----

  void ReplayInstance(const Form& form, const Instance& instance,
                      const std::map<std::string, int64_t>& open, int fill, int64_t* work) {
    bool covered = false;
    for (const Case& c : form.cases) {
      Algebra algebra(static_cast<Level>(std::max(0, LevelOf(c.laws))), work);
      Sides sides(rule_, instance, &algebra, fill);
      std::vector<const TensorValue*> inputs;
      for (size_t v = 0; v < instance.inputs.size(); ++v) {
        inputs.push_back(&sides.input(static_cast<int>(v)));
      }
      FormValue values(&algebra, proof_.names.size(), std::move(inputs));
      for (const auto& [name, value] : open) {
        if (auto it = names_.find(name); it != names_.end()) values.Set(it->second, value);
      }
      SetReals(instance, &values);
      bool holds = true;
      for (const Node& fact : c.facts) holds = holds && values.Holds(fact);
      if (!values.problem().empty()) Reject(c.line, values.problem());
      if (!holds) continue;
      covered = true;
      if (c.laws == "impossible") Reject(c.line, "a case that is said to be impossible is not");
      if (sides.invalid()) continue;
      if (!algebra.problem().empty() || c.laws == kExact) {
        ++result_.undecided;
        continue;
      }
      if (!Solve(c, open, &values)) {
        Reject(c.line, "no values of new symbols give the sizes that were solved for");
      }
      for (const Output& output : c.outputs) {
        if (result_.problem.empty()) ReplayOutput(output, sides, values, &algebra);
      }
    }
    if (!covered) Reject(form.line, "none of the cases holds");
  }

  void SetReals(const Instance& instance, FormValue* values) {
    for (size_t i = 0; i < rule_.symbols.size(); ++i) {
      auto* real = instance.symbols[i] ? std::get_if<ScalarExpr>(&*instance.symbols[i]) : nullptr;
      if (real != nullptr && real->kind() == ScalarExpr::Kind::kConst) {
        values->SetParam(rule_.symbols[i].name, real->value());
      }
    }
  }

  static void NamesIn(const Node& node, std::set<int>* names) {
    if (node.name >= 0) names->insert(node.name);
    for (const Node& item : node.items) NamesIn(item, names);
  }

  // Searches values for symbols that the proof introduced.
  bool Solve(const Case& c, const std::map<std::string, int64_t>& open, FormValue* values) {
    std::set<int> used;
    int64_t most = 1;
    for (const auto& [name, value] : c.solved) NamesIn(value, &used);
    for (const auto& [name, value] : open) most = std::max(most, std::abs(value));
    std::vector<int> fresh;
    for (int name : used) {
      if (!values->Get(name)) fresh.push_back(name);
    }
    int64_t tries = 0;
    std::function<bool(size_t)> choose = [&](size_t i) {
      if (++tries > kMostSolutions) return false;
      if (i < fresh.size()) {
        for (int64_t v = -1; v <= most; ++v) {
          values->Set(fresh[i], v);
          if (choose(i + 1)) return true;
        }
        return false;
      }
      return std::all_of(c.solved.begin(), c.solved.end(), [&](const auto& equation) {
        return values->Get(equation.first) == values->Integer(equation.second);
      });
    };
    return choose(0) && values->problem().empty();
  }

  // ---- One output ----

  void ReplayOutput(const Output& output, const Sides& sides, const FormValue& values,
                    Algebra* algebra) {
    const TensorValue& source = sides.source(output.number);
    const int64_t count = static_cast<int64_t>(source.elements.size());
    if (output.empty && count > 0) Reject(output.line, "the output is not empty");
    if (output.empty) return;
    if (output.names.size() != source.dims.size()) Reject(output.line, "another rank");
    if (source.dims != sides.target(output.number).dims) Reject(output.line, "the shapes differ");
    const int64_t step = std::max<int64_t>(1, count / kElements);
    // The offset varies, so that not only the first columns are checked.
    for (int64_t n = 0; n < count && result_.problem.empty(); n += step) {
      const int64_t element = std::min(count - 1, n + (n / step) % step);
      FormValue at = values;
      int64_t rest = element;
      for (size_t d = source.dims.size(); d-- > 0;) {
        at.Set(output.names[d], rest % source.dims[d]);
        rest /= source.dims[d];
      }
      for (const Output::Digits& digits : output.digits) {
        const int64_t base = at.Integer(digits.base);
        if (base < 1 || !at.Get(digits.name)) {
          Reject(output.line, "digits of what is no index, or to no base");
          return;
        }
        at.Set(digits.high, *at.Get(digits.name) / base);
        at.Set(digits.low, *at.Get(digits.name) % base);
      }
      evaluated_.insert(&output);
      ReplayElement(output, sides, element, &at, algebra);
    }
  }

  void ReplayElement(const Output& output, const Sides& sides, int64_t element, FormValue* at,
                     Algebra* algebra) {
    static const char* const kSides[] = {"source", "target"};
    Value forms[2];
    for (int side = 0; side < 2; ++side) {
      forms[side] = at->Form(output.sides[side]);
      const Value& truth = sides.side(side, output.number).elements[element];
      if (!Agree(output.line, absl::StrCat("the normal form of the ", kSides[side]), truth,
                 forms[side], at, algebra)) {
        return;
      }
    }
    // Both sides are the maximum of an empty set: there is no difference.
    if (Algebra::IsInfinite(*forms[0]) && Algebra::Same(forms[0], forms[1])) {
      ++result_.undecided;
      return;
    }
    std::map<int, Value> terms;
    for (const auto& [number, term] : output.terms) terms[number] = at->Summand(term);
    auto sum = [&](const std::vector<int>& numbers) {
      Value total = algebra->Integer(0);
      for (int number : numbers) total = algebra->Sum(total, terms[number]);
      return total;
    };
    for (const Event& event : output.events) {
      Value before = sum(event.used), after = sum(event.made);
      std::string what = "terms that are added up";
      if (event.kind == Event::Kind::kDifference) {
        before = algebra->Sum(forms[0], forms[1], {-1, 1});
        what = "the terms of the difference";
      } else if (event.kind == Event::Kind::kZero) {
        what = "a term that should be 0";
      } else if (event.kind == Event::Kind::kLaws) {
        if (!AgreeAtPoints(event, output.events.size(), before, forms, at, algebra)) return;
        continue;
      } else if (event.kind == Event::Kind::kPair) {
        what = "what a pair of terms leaves";
        if (!ReplayPair(event, output, terms, at, algebra)) return;
      }
      if (!Agree(event.line, what, before, after, at, algebra)) return;
    }
  }

  // The map must be a bijection of the points of both terms; if the step leaves a rest, it must be
  // one to one. At common points the atoms must be equal.
  bool ReplayPair(const Event& event, const Output& output, std::map<int, Value>& terms,
                  FormValue* at, Algebra* algebra) {
    const Node& mine = output.terms.at(event.used[0]);
    const Node& other = event.renamed;
    if (!other.Is("term", 4) || !mine.Is("term", 4)) return Reject(event.line, "no terms");
    if (!Agree(event.line, "a term with renamed axes", terms[event.used[1]], at->Summand(other), at,
               algebra)) {
      return false;
    }
    const Node &from = mine.items[2], &to = other.items[2];
    const FormValue::Points theirs = at->PointsOf(to, other.items[3]);
    FormValue::Points images;
    if (event.map.items.size() != to.items.size()) {
      return Reject(event.line, "the map does not give each axis");
    }
    for (const auto& point : at->PointsOf(from, mine.items[3])) {
      at->SetAxes(from, point);
      const Value my_atoms = at->Atoms(mine);
      std::vector<int64_t> image(to.items.size());
      for (size_t i = 0; i < to.items.size(); ++i) {
        const Node& entry = event.map.items[i];
        if (entry.text != to.items[i].text || entry.items.size() != 1) {
          return Reject(event.line, "the map does not give each axis");
        }
        image[i] = at->Integer(entry.items[0]);
      }
      images.push_back(image);
      bool agree = true;
      if (std::binary_search(theirs.begin(), theirs.end(), image)) {
        at->SetAxes(to, image);
        agree = Agree(event.line, "paired terms", my_atoms, at->Atoms(other), at, algebra);
        at->ClearAxes(to);
      }
      at->ClearAxes(from);
      if (!agree) return false;
    }
    std::sort(images.begin(), images.end());
    if (std::adjacent_find(images.begin(), images.end()) != images.end()) {
      return Reject(event.line, "the map of the axes is not one to one");
    }
    if (event.made.empty() && images != theirs) {
      return Reject(event.line, "the map of the axes is no bijection");
    }
    return true;
  }

  // The step says that the whole difference is 0 by laws that this algebra may lack: then points
  // must not show that the sides differ. False ends the work on this element.
  bool AgreeAtPoints(const Event& event, size_t steps, const Value& difference,
                     const Value forms[2], FormValue* at, Algebra* algebra) {
    const Value zero = algebra->Integer(0);
    if (!at->problem().empty() || !algebra->problem().empty() || Algebra::Same(difference, zero)) {
      return Agree(event.line, "terms that should add up to 0", difference, zero, at, algebra);
    }
    if (steps != 2) return Reject(event.line, "laws are the only step after the difference");
    if (!algebra->ApproximatelyEqual(forms[0], forms[1])) {
      return Reject(event.line, absl::StrCat("the sides differ: ", algebra->ToString(forms[0]),
                                             " is not ", algebra->ToString(forms[1])));
    }
    ++result_.undecided;
    return true;
  }

  // False ends the work on this element.
  bool Agree(int line, const std::string& what, const Value& x, const Value& y, FormValue* at,
             Algebra* algebra) {
    if (!at->problem().empty()) return Reject(line, absl::StrCat(what, ": ", at->problem()));
    // The sides could be evaluated, so the step is the problem.
    if (!algebra->problem().empty()) {
      return Reject(line, absl::StrCat(what, ": ", algebra->problem()));
    }
    ++result_.checks;
    // Values whose polynomials differ may be equal as reals, but not under the laws that the proof
    // claims.
    if (Algebra::Same(x, y)) return true;
    return Reject(line,
                  absl::StrCat(what, ": ", algebra->ToString(x), " is not ", algebra->ToString(y)));
  }

  const ProofText& proof_;
  const Substitution& rule_;
  const Bounds& bounds_;
  std::map<std::string, int> names_;
  std::string where_;
  std::vector<Claim> claims_;
  std::set<const Output*> evaluated_;
  Replayed result_;
};

}  // namespace

Replayed ReplayProof(absl::string_view file, const Substitution& rule, const Bounds& bounds) {
  auto proof = ParseProof(file);
  if (proof.ok()) return Replayer(*proof, rule, bounds).Run();
  Replayed result;
  result.problem = std::string(proof.status().message());
  return result;
}

}  // namespace lemma::checker
