#include "verifier/prover/prover.h"

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/work.h"
#include "rewrite/rules/zero_signs.h"
#include "verifier/error_bound/difference_bound.h"
#include "verifier/identities/case_equality.h"
#include "verifier/normal_form/bounds_check.h"
#include "verifier/normal_form/build_form.h"
#include "verifier/normal_form/elements.h"
#include "verifier/normal_form/equality.h"
#include "verifier/normal_form/form_text.h"
#include "verifier/prover/conditions.h"
#include "verifier/refutation/hypotheses.h"
#include "verifier/refutation/refuter.h"

namespace lemma {
namespace {

using prover::Arith;
using prover::Effort;
using prover::Elements;
using prover::Equality;
using prover::Fact;
using prover::Facts;
using prover::FormBuilder;
using prover::Hypotheses;
using prover::Laws;
using prover::NormalForm;
using prover::NormalForms;

std::vector<IndexExpr> InputSizes(const Statement& statement) {
  std::vector<IndexExpr> sizes;
  for (const ExprType& input : statement.source.inputs) {
    sizes.insert(sizes.end(), input.dims.begin(), input.dims.end());
  }
  return sizes;
}

FloatContract ContractOf(Laws laws) {
  return laws == Laws::kNone || laws == Laws::kExact ? FloatContract::kBitExact
         : laws == Laws::kRing                       ? FloatContract::kReassociates
                                                     : FloatContract::kRealOnly;
}

// Whether all floats have one type, so that nothing is rounded to another type on the way.
bool OneFloatType(const Statement& statement) {
  std::set<DType> floats;
  for (const Definition* d : {&statement.source, &statement.target}) {
    for (const ExprType& input : d->inputs) {
      if (IsFloat(input.dtype)) floats.insert(input.dtype);
    }
    for (const TensorExpr& tensor : d->tensors) {
      if (IsFloat(tensor.dtype)) floats.insert(tensor.dtype);
    }
  }
  return floats.size() <= 1;
}

// Bit-exact proofs treat maxima as sets, so nothing may depend on which zero a maximum gives.
bool ZeroSignsMatter(const Statement& statement) {
  return DividesByZeroOfAnySign(statement.source) || DividesByZeroOfAnySign(statement.target);
}

// Limit on the steps of comparing the reads of one element: some 0.2 s. Most take a hundredth of
// it.
constexpr int64_t kElementsWork = 6'000'001;

// Limit on the steps of comparing one output case by case: some 0.1 s. Most take a tenth of it.
constexpr int64_t kCasesWork = 4'000'003;

// Limit on the steps of the search at sizes that constants suggest: some 0.3 s.
constexpr int64_t kSuggestedWork = 10'000'001;

class Attempt {
 public:
  // *doing says in words what is being done.
  Attempt(const Statement& statement, const ProverOptions& options, const char** doing)
      : statement_(statement),
        options_(options),
        doing_(*doing),
        forms_(&leaves_),
        arith_(&leaves_),
        hypotheses_(&forms_, &arith_, statement.requirements, InputSizes(statement)) {
    arith_.rlimit = options.rlimit;
    if (options.keep_obligations) arith_.log = &obligations_;
  }

  Verdict Run() {
    doing_ = "the instances tried first";
    if (std::string problem = Interfaces(); !problem.empty()) return Unknown{problem};
    prover::Refuter refuter(statement_, hypotheses_, &leaves_, options_.seed);
    std::mt19937_64 random(options_.seed);
    if (!refuter.Sample(&random) && !refuter.SampleSuggested(&random)) {
      return Unknown{"no small sizes were found for which the precondition holds"};
    }
    if (auto refuted = refuter.Search(options_.samples)) return *std::move(refuted);
    rounding_differs_ = refuter.rounding_differs();
    FloatContract contract = FloatContract::kBitExact;
    std::string reason = Cases({}, &contract, 0);
    if (reason.empty()) return Success(contract);
    // This comes last, since a proof takes less time than a search that finds nothing.
    doing_ = "the instances that constants suggest";
    hypotheses_ = Hypotheses(&forms_, &arith_, statement_.requirements, InputSizes(statement_));
    if (options_.samples > 0) {
      if (auto refuted = refuter.SearchSuggested(kSuggestedWork)) return *std::move(refuted);
    }
    return Unknown{reason};
  }

 private:
  std::string Interfaces() const {
    const Definition &a = statement_.source, &b = statement_.target;
    if (a.inputs.size() != b.inputs.size()) return "the sides have different inputs";
    if (a.outputs.size() != b.outputs.size()) return "the sides have different numbers of outputs";
    for (size_t i = 0; i < a.inputs.size(); ++i) {
      if (a.inputs[i].rank() != b.inputs[i].rank() || a.inputs[i].dtype != b.inputs[i].dtype) {
        return absl::StrCat("input ", i, " has different types");
      }
    }
    for (size_t o = 0; o < a.outputs.size(); ++o) {
      const ExprType x = a.TypeOf(a.outputs[o]), y = b.TypeOf(b.outputs[o]);
      if (x.dtype != y.dtype) return absl::StrCat("output ", o, " has different element types");
      if (x.rank() != y.rank()) return absl::StrCat("output ", o, " has different ranks");
    }
    return "";
  }

  // "" if proved where `more` holds too. *contract becomes the weakest contract needed. First
  // ignores disjunctions among the requirements; if the proof fails, splits one into cases.
  std::string Cases(const Facts& more, FloatContract* contract, int depth) {
    hypotheses_ =
        Hypotheses(&forms_, &arith_, statement_.requirements, InputSizes(statement_), more);
    const std::vector<std::vector<Facts>> undecided = hypotheses_.undecided();
    if (depth > 0 && arith_.Unsatisfiable(hypotheses_.facts())) {
      LogCase(more, "impossible");
      return "";
    }
    const size_t queries = obligations_.size(), steps = steps_.size();
    std::string reason = WellFormed();
    const bool well_formed = reason.empty();
    for (Laws laws : {Laws::kNone, Laws::kExact, Laws::kRing, Laws::kRealOnly}) {
      if (!well_formed) break;
      if (statement_.within ? laws != Laws::kRing : !Suits(laws)) continue;
      reason = Outputs(more, laws, contract);
      if (reason.empty()) return "";
    }
    if (undecided.empty() || depth >= 7) {
      const bool cases = well_formed && options_.cases && !statement_.within;
      return cases && CaseByCase(more, contract) ? "" : reason;
    }
    obligations_.resize(queries);
    steps_.resize(steps);
    for (const Facts& facts : undecided[0]) {
      reason = Cases(prover::With(more, facts), contract, depth + 1);
      if (!reason.empty()) return reason;
    }
    return "";
  }

  // The last attempt, since it takes the longest.
  bool CaseByCase(const Facts& more, FloatContract* contract) {
    case_by_case_ = true;
    bool proved = false;
    for (Laws laws : {Laws::kNone, Laws::kRing, Laws::kRealOnly}) {
      if (!Suits(laws)) continue;
      proved = Outputs(more, laws, contract).empty();
      if (proved) break;
    }
    case_by_case_ = false;
    return proved;
  }

  // Whether a proof with these laws may succeed and is asked for.
  bool Suits(Laws laws) const {
    if (ContractOf(laws) < options_.strictest) return false;
    if (laws == Laws::kExact && (!statement_.typed || !UsesIntegers(statement_))) return false;
    return ContractOf(laws) != FloatContract::kBitExact ||
           !(rounding_differs_ || !OneFloatType(statement_) || ZeroSignsMatter(statement_));
  }

  std::string WellFormed() {
    doing_ = "what each side requires";
    if (arith_.Unsatisfiable(hypotheses_.facts())) return "the requirements contradict each other";
    const char* names[] = {"source", "target"};
    const Definition* sides[] = {&statement_.source, &statement_.target};
    for (int side = 0; side < 2; ++side) {
      std::string problem = prover::UnprovedRead(&forms_, &arith_, *sides[side],
                                                 hypotheses_.solved(), hypotheses_.facts());
      if (!problem.empty()) return absl::StrCat("in the ", names[side], ": ", problem);
    }
    return "";
  }

  void LogCase(const Facts& more, const std::string& laws) {
    if (!options_.keep_obligations) return;
    steps_.push_back(absl::StrCat("case ", laws));
    for (const Fact& fact : more) steps_.push_back("fact " + prover::TextOf(leaves_, fact));
    for (const auto& [symbol, value] : hypotheses_.solved()) {
      steps_.push_back(
          absl::StrCat("set ", leaves_.Info(symbol).name, " ", prover::TextOf(leaves_, value)));
    }
  }

  // If all outputs are proved, *contract becomes at least what that needs.
  std::string Outputs(const Facts& more, Laws laws, FloatContract* contract) {
    const size_t queries = obligations_.size(), steps = steps_.size();
    LogCase(more, laws == Laws::kNone    ? "none"
                  : laws == Laws::kExact ? "exact"
                  : laws == Laws::kRing  ? "ring"
                                         : "real");
    elements_differ_ = false;
    std::string reason = AllOutputs(laws);
    if (!reason.empty()) {
      obligations_.resize(queries);
      steps_.resize(steps);
      return reason;
    }
    FloatContract needed = statement_.within ? FloatContract::kBounded : ContractOf(laws);
    // A narrower intermediate type may overflow; elements that only one side reads may be infinite;
    // values that rounding changed may cross a discontinuity.
    if (laws == Laws::kRing && !statement_.within &&
        (elements_differ_ || !OneFloatType(statement_))) {
      needed = FloatContract::kRealOnly;
      if (options_.keep_obligations) steps_[steps] = "case real";
    }
    *contract = std::max(*contract, needed);
    return "";
  }

  std::string AllOutputs(Laws laws) {
    for (size_t o = 0; o < statement_.source.outputs.size(); ++o) {
      std::string reason = Output(o, laws);
      if (!reason.empty()) return absl::StrCat("output ", o, ": ", reason);
    }
    return "";
  }

  // Indices of the output are fresh constants. One that is divided by a size becomes two digits.
  std::string Output(size_t o, Laws laws) {
    const Definition* sides[] = {&statement_.source, &statement_.target};
    FormBuilder builders[] = {
        {&forms_, *sides[0], laws, hypotheses_.solved(), &statement_.source_operators},
        {&forms_, *sides[1], laws, hypotheses_.solved(), &statement_.target_operators}};
    Facts facts = hypotheses_.facts();
    std::vector<Poly> at;
    const ExprType types[] = {sides[0]->TypeOf(sides[0]->outputs[o]),
                              sides[1]->TypeOf(sides[1]->outputs[o])};
    for (int d = 0; d < types[0].rank(); ++d) {
      const Poly sizes[] = {arith_.SimplifyDivs(facts, builders[0].Index(types[0].dims[d], {})),
                            arith_.SimplifyDivs(facts, builders[1].Index(types[1].dims[d], {}))};
      if (!arith_.Equal(hypotheses_.facts(), sizes[0], sizes[1], Effort::kFull)) {
        return absl::StrCat("could not prove that its sizes ", leaves_.ToString(sizes[0]), " and ",
                            leaves_.ToString(sizes[1]), " in dimension ", d, " are equal");
      }
      const Poly i = Poly::Of(leaves_.NewVar("o"));
      facts.push_back(Fact::Ge(i));
      facts.push_back(Fact::Ge(sizes[0] - 1 - i));
      at.push_back(i);
    }
    const Facts whole = facts;
    prover::StepLog log(&leaves_, &steps_);
    // For an output without elements there is nothing to prove.
    if (arith_.Unsatisfiable(facts)) {
      if (options_.keep_obligations) log.Line(absl::StrCat("output ", o, " empty"));
      return "";
    }
    Equality equality(&forms_, &arith_, laws);
    if (options_.keep_obligations) {
      equality.log = &log;
      std::string names;
      for (const Poly& i : at) absl::StrAppend(&names, " ", prover::TextOf(leaves_, i));
      log.Line(absl::StrCat("output ", o, names));
    }
    NormalForm forms[2];
    doing_ = "the normal forms";
    for (int side = 0; side < 2; ++side) {
      if (laws == Laws::kExact) {
        equality.normalizer().UseTypes(&sides[side]->inputs, &statement_.bounds);
        builders[side].UseExact(&equality.normalizer(), &whole);
      }
      forms[side] = builders[side].Element(sides[side]->outputs[o], at);
      if (!builders[side].error().empty()) return builders[side].error();
      forms[side] = equality.normalizer().Simplify(forms[side], facts);
    }
    for (int round = 0; round < 8; ++round) {
      if (!SplitIndex(forms, &facts)) break;
      for (NormalForm& form : forms) form = equality.normalizer().Simplify(form, facts);
    }
    if (options_.keep_obligations) {
      log.Line("source " + prover::TextOf(leaves_, forms[0]));
      log.Line("target " + prover::TextOf(leaves_, forms[1]));
    }
    if (statement_.within) return DiffersAtMost(forms, &builders[0], facts);
    const size_t written = steps_.size();
    doing_ = "the comparison of normal forms";
    bool equal = equality.AreEqual(forms[0], forms[1], facts);
    if (!equal && laws != Laws::kNone) {
      // Once more, with terms under maxima added up if they differ only in their axes.
      bool merged = false;
      NormalForm sums[2] = {forms[0], forms[1]};
      for (NormalForm& form : sums) {
        if (auto sum = equality.Merged(form, facts)) {
          form = *std::move(sum);
          merged = true;
        }
      }
      steps_.resize(written);
      equal = merged && equality.AreEqual(sums[0], sums[1], facts);
    }
    // Identities of real functions say nothing about NaN, which truth values would show.
    if (!equal && case_by_case_ && (laws != Laws::kRealOnly || IsFloat(types[0].dtype))) {
      steps_.resize(written);
      equal = EqualByCases(forms, facts, laws);
      const NormalForm difference = equality.normalizer().Simplify(
          prover::Sum(forms[0], prover::Scaled(forms[1], -1)), facts);
      if (options_.keep_obligations) log.ZeroByLaws(difference.terms);
    }
    if (equal) {
      elements_differ_ = elements_differ_ || (laws == Laws::kRing && !SameElements(o, at, whole));
      return "";
    }
    std::string left = equality.remainder();
    if (left.size() > 600) left = left.substr(0, 600) + "…";
    return absl::StrCat("a difference remains: ", left);
  }

  // For a claim with a bound: "" if the forms differ by at most this bound.
  std::string DiffersAtMost(const NormalForm forms[2], FormBuilder* builder, const Facts& facts) {
    doing_ = "the bound of the difference";
    prover::DifferenceBound bound(&forms_, &arith_, &statement_.source.inputs, &statement_.bounds);
    const NormalForm within =
        builder->ValueIn(statement_.source.outputs[0], *statement_.within, {});
    const auto limit =
        builder->error().empty() ? bound.AsLimit(within, hypotheses_.facts()) : std::nullopt;
    if (!limit) {
      return absl::StrCat("the bound ", statement_.within->ToString(),
                          " is no sum of products of sizes, positive numbers and parameters that "
                          "the precondition bounds from below by positive numbers");
    }
    const auto most = bound.Of(prover::Sum(forms[0], prover::Scaled(forms[1], -1)), facts);
    if (!most) return absl::StrCat("no bound was found for ", bound.remainder());
    if (AtMost(*most, *limit)) return "";
    return absl::StrCat("the bound that was found is larger: ", most->ToString());
  }

  bool EqualByCases(const NormalForm forms[2], const Facts& facts, Laws laws) {
    doing_ = "the cases";
    WorkScope work(kCasesWork);
    try {
      return prover::CaseEquality(&forms_, &arith_, laws, options_.rlimit)
          .AreEqual(forms[0], forms[1], facts);
    } catch (const WorkEnded& end) {
      if (end.limit != kCasesWork) throw;
      return false;
    }
  }

  // Whether the elements of both sides depend on the same elements of inputs, are discontinuous at
  // the same values and undefined at the same values. False if this cannot be decided.
  bool SameElements(size_t o, const std::vector<Poly>& at, const Facts& facts) {
    doing_ = "the comparison of what is read";
    const size_t written = steps_.size();
    WorkScope work(kElementsWork);
    bool same = false;
    try {
      same = CompareElements(o, at, facts);
    } catch (const WorkEnded& end) {
      if (end.limit != kElementsWork) throw;  // the limit of the whole proof, or interrupted
    }
    steps_.resize(written);  // the proof does not rest on these steps
    return same;
  }

  bool CompareElements(size_t o, const std::vector<Poly>& at, const Facts& facts) {
    Elements source = prover::ElementsOf(&forms_, statement_.source, &statement_.source_operators,
                                         hypotheses_.solved(), statement_.finite,
                                         statement_.source.outputs[o], at);
    Elements target = prover::ElementsOf(&forms_, statement_.target, &statement_.target_operators,
                                         hypotheses_.solved(), statement_.finite,
                                         statement_.target.outputs[o], at);
    if (!source.complete || !target.complete) return false;
    Equality exact(&forms_, &arith_, Laws::kNone), interpreted(&forms_, &arith_, Laws::kRing);
    for (Elements* side : {&source, &target}) {
      prover::Simplify(&exact.normalizer(), facts, side);
      prover::SimplifyPartial(&interpreted.normalizer(), facts, side);
    }
    return AreOne(prover::FormsOf(source, target), facts, Laws::kNone, &exact) &&
           ((source.partial.empty() && target.partial.empty()) ||
            AreOne(prover::PartialFormsOf(source, target), facts, Laws::kRing, &interpreted));
  }

  bool AreOne(std::vector<NormalForm> sets, Facts facts, Laws laws, Equality* equality) {
    for (NormalForm& form : sets) form = equality->normalizer().Simplify(form, facts);
    for (int round = 0; round < 8; ++round) {
      if (!SplitIndex(sets.data(), &facts)) break;
      for (NormalForm& form : sets) form = equality->normalizer().Simplify(form, facts);
    }
    if (equality->AreEqual(sets[0], sets[1], facts)) return true;
    return case_by_case_ && prover::CaseEquality(&forms_, &arith_, laws, options_.rlimit)
                                .AreEqual(sets[0], sets[1], facts);
  }

  bool SplitIndex(NormalForm* forms, Facts* facts) {
    std::set<Leaf> divs;
    for (int side = 0; side < 2; ++side) CollectDivs(forms[side], &divs);
    for (Leaf div : divs) {
      const LeafInfo info = leaves_.Info(div);
      std::vector<Leaf> in_divisor = leaves_.DepsOf(info.b);
      bool constant_divisor = true;
      for (Leaf leaf : in_divisor) {
        constant_divisor &= leaves_.Info(leaf).kind == LeafInfo::Kind::kSymbol;
      }
      if (!constant_divisor || !arith_.Positive(*facts, info.b)) continue;
      for (Leaf index : leaves_.DepsOf(info.a)) {
        if (leaves_.Info(index).kind != LeafInfo::Kind::kVar) continue;
        const int64_t c = info.a.CoefficientOf({index});
        const Poly rest = info.a - Poly::Of(Monomial{index}, c);
        if ((c != 1 && c != -1) || leaves_.Mentions(rest, index)) continue;
        // The rest must vanish from the quotient; otherwise the digits do not help.
        if (!ExactQuotient(rest, info.b) && !rest.IsZero()) continue;
        if (!arith_.NonNegative(*facts, Poly::Of(index))) continue;
        const Leaf q = leaves_.NewVar("q"), r = leaves_.NewVar("r");
        const LeafMap map = {{index, info.b * Poly::Of(q) + Poly::Of(r)}};
        if (options_.keep_obligations) {
          steps_.push_back(absl::StrCat("digits ", leaves_.Info(index).name, " ",
                                        prover::TextOf(leaves_, info.b), " ", leaves_.Info(q).name,
                                        " ", leaves_.Info(r).name));
        }
        Facts next = {Fact::Ge(Poly::Of(q)), Fact::Ge(Poly::Of(r)),
                      Fact::Ge(info.b - 1 - Poly::Of(r))};
        for (const Fact& fact : *facts) {
          Fact substituted{fact.kind, leaves_.Substitute(fact.p, map)};
          next.push_back(substituted);
          if (!(substituted == fact)) next.back() = arith_.SimplifyFact(Front(next), substituted);
        }
        *facts = std::move(next);
        for (int side = 0; side < 2; ++side) forms[side] = forms_.Substitute(forms[side], map);
        return true;
      }
    }
    return false;
  }

  // All but the last fact: the context for simplifying it.
  static Facts Front(const Facts& facts) { return Facts(facts.begin(), facts.end() - 1); }

  void CollectDivs(const NormalForm& form, std::set<Leaf>* divs) {
    auto add = [&](const Poly& p) {
      for (const auto& [m, c] : p.terms()) {
        for (Leaf leaf : m) {
          if (leaves_.Info(leaf).kind == LeafInfo::Kind::kDiv) divs->insert(leaf);
        }
      }
    };
    for (const prover::Summand& term : form.terms) {
      add(term.coefficient);
      for (const Fact& fact : term.guards) add(fact.p);
      for (const prover::Atom& atom : term.atoms) {
        for (const Poly& p : atom.index) add(p);
        for (const auto& arg : atom.args) CollectDivs(*arg, divs);
        for (const auto& alternative : atom.alternatives) {
          for (const Fact& fact : alternative.guards) add(fact.p);
          CollectDivs(*alternative.value, divs);
        }
      }
    }
  }

  Verdict Success(FloatContract contract) {
    Proved proved;
    proved.contract = contract;
    proved.id = ProofId(statement_);
    proved.queries = arith_.solver().queries();
    std::vector<std::string> names;
    for (const auto& [name, says] : prover::ConditionsOf(statement_)) {
      if (says) names.push_back(name);
    }
    proved.coverage = absl::StrCat(
        "all sizes >= 1", names.empty() ? "" : absl::StrCat(" with ", absl::StrJoin(names, ", ")));
    if (options_.keep_obligations) {
      std::set<std::string> seen;
      for (const prover::Obligation& o : obligations_) {
        if (seen.insert(o.script).second) proved.log.queries.push_back({o.what, o.script});
      }
      proved.log.steps = steps_;
    }
    return proved;
  }

  const Statement& statement_;
  const ProverOptions& options_;
  const char*& doing_;
  Leaves leaves_;
  NormalForms forms_;
  Arith arith_;
  Hypotheses hypotheses_;
  bool case_by_case_ = false;      // whether prover::CaseEquality is used too
  bool elements_differ_ = false;   // in the last attempt, whether the sides depend on different
                                   // elements
  bool rounding_differs_ = false;  // then no proof without laws can succeed
  std::vector<prover::Obligation> obligations_;
  std::vector<std::string> steps_;
};

}  // namespace

Verdict Prove(const Statement& statement, const ProverOptions& options) {
  if (UsesSmallFloats(statement)) return Unknown{"no proof knows floats of 8 and 4 bits"};
  WorkScope work(options.work, options.interrupted);
  const char* doing = "the requirements";
  try {
    Verdict verdict = Attempt(statement, options, &doing).Run();
    if (auto* proved = std::get_if<Proved>(&verdict)) proved->work = work.spent();
    return verdict;
  } catch (const WorkEnded& end) {
    return Unknown{end.Reason(doing)};
  }
}

}  // namespace lemma
