#include "generator/generate.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "generator/derivation.h"
#include "generator/generalize.h"
#include "generator/terms.h"
#include "graph/ops/status_macros.h"
#include "rewrite/field_test.h"

namespace lemma::generator {
namespace {

// Candidates that are proved together. Rules of one batch may follow from each other.
constexpr size_t kBatch = 16;
// Of those that follow from what was not proved, how many are tried nevertheless, for each size.
constexpr size_t kMostRetried = 200;
// A rule that takes more steps than these is kept.
constexpr size_t kMostSteps = 12;
constexpr int kTestInstances = 10;
constexpr size_t kClassesBetweenChecks = 1024;

constexpr Means kProved{Means::kProved, true}, kSplitsStay{Means::kProved, false};

struct Candidate {
  Pair pair;  // over inputs of the set
  std::vector<int> more_inputs;
  NamedPair named;
  std::vector<int> types;             // of its variables
  std::vector<int> sources, targets;  // terms
  Substitution rule;

  // Several outputs are together because of a split: a rewriter that merges has to find them.
  Means With(Means::Trust trust) const { return {trust, sources.size() == 1}; }
};

class Generation {
 public:
  Generation(OperatorSet* set, const Enumerated& enumerated, const GenerateOptions& options,
             const Prover& prove)
      : set_(*set),
        enumerated_(enumerated),
        options_(options),
        prove_(prove),
        evaluator_(set, options.seed),
        known_(set) {
    for (const Input& input : set->inputs()) input_types_.push_back(input.type);
  }

  absl::StatusOr<Generated> Run() {
    for (int size = 1; size <= enumerated_.max_ops; ++size) LEMMA_RETURN_IF_ERROR(DoSize(size));
    LEMMA_RETURN_IF_ERROR(Finish());
    return std::move(result_);
  }

 private:
  // Fewer variables and more operators come later: they say less, and may follow.
  using Place = std::tuple<int, size_t, std::string>;

  void Progress(const std::string& what, size_t done, size_t all) {
    if (options_.progress) {
      options_.progress(what, static_cast<int64_t>(done), static_cast<int64_t>(all));
    }
  }

  absl::Status Check() {
    if (options_.interrupted != nullptr && *options_.interrupted) {
      return absl::CancelledError("interrupted");
    }
    return known_.store().status();
  }

  absl::Status DoSize(int size) {
    known_.ChoosePrecedence();
    known_.Clear();
    std::map<Place, Pair> found;
    for (size_t i = 0; i < enumerated_.classes.size(); ++i) {
      LEMMA_RETURN_IF_ERROR(CollectPairs(enumerated_.classes[i], size, &found));
      if (i % kClassesBetweenChecks == 0) {
        Progress(absl::StrCat("comparing graphs of ", size, " operators"), i,
                 enumerated_.classes.size());
        LEMMA_RETURN_IF_ERROR(Check());
      }
    }
    known_.Clear();
    std::deque<Candidate> candidates;
    for (auto& [place, pair] : found) candidates.emplace_back().pair = std::move(pair);
    found.clear();
    return DecideAll(std::move(candidates));
  }

  // Adds a pair for each member that rules do not make the same as a smaller one.
  absl::Status CollectPairs(const ValueClass& one, int size, std::map<Place, Pair>* found) {
    size_t count = 0;
    while (count < one.members.size() && one.members[count].num_ops <= size) ++count;
    if (count < 2 || one.members[count - 1].num_ops < size) return absl::OkStatus();
    // Siblings that could be merged: whether they are found is more than whether they are equal.
    const bool has_splits = one.members[0].num_outputs > 1 &&
                            std::any_of(one.members.begin(), one.members.begin() + count,
                                        [&](const CompactGraph& graph) { return HasSplit(graph); });
    const Means means = has_splits ? kSplitsStay : kProved;
    struct Form {
      std::vector<int> values;
      size_t member;
      uint64_t key = 0;
    };
    std::vector<Form> forms;
    for (size_t i = 0; i < count; ++i) {
      std::vector<int> values = known_.Intern(Expanded(one.members[i]), input_types_);
      for (int& v : values) v = known_.NormalForm(v, means);
      if (std::none_of(forms.begin(), forms.end(),
                       [&](const Form& form) { return form.values == values; })) {
        forms.push_back({std::move(values), i});
      }
    }
    if (forms.size() < 2) return absl::OkStatus();
    // The key that found them looks at some elements, of one run.
    for (Form& form : forms) {
      LEMMA_ASSIGN_OR_RETURN(form.key, evaluator_.ExactKey(Expanded(one.members[form.member])));
    }
    for (size_t i = 1; i < forms.size(); ++i) {
      // Two smaller ones were compared before.
      if (one.members[forms[i].member].num_ops < size) continue;
      size_t first = 0;
      while (forms[first].key != forms[i].key) ++first;
      if (first == i) continue;
      AddParts({Expanded(one.members[forms[i].member]), Expanded(one.members[forms[first].member])},
               forms[i].values, forms[first].values, found);
    }
    return absl::OkStatus();
  }

  bool HasSplit(const CompactGraph& graph) const {
    return std::any_of(graph.ops.begin(), graph.ops.begin() + graph.num_ops, [&](const auto& op) {
      return set_.instances()[op.instance].num_outputs > 1;
    });
  }

  // Outputs that are known to be equal are left out; others stay together only if they are outputs
  // of one operator, or rest on them: else each of them says more by itself.
  void AddParts(const Pair& pair, const std::vector<int>& source_forms,
                const std::vector<int>& target_forms, std::map<Place, Pair>* found) {
    std::vector<size_t> part(source_forms.size());
    std::iota(part.begin(), part.end(), 0);
    auto join = [&](size_t a, size_t b) {
      for (size_t& p : part) {
        if (p == part[a]) p = part[b];
      }
    };
    for (const TermGraph* graph : {&pair.source, &pair.target}) {
      std::vector<size_t> reader(graph->ops.size(), part.size());
      for (size_t o = 0; o < part.size(); ++o) {
        if (source_forms[o] == target_forms[o]) continue;
        std::vector<bool> read(graph->ops.size(), false);
        if (graph->outputs[o] >= 0) read[graph->outputs[o] / kMostOutputs] = true;
        for (size_t i = graph->ops.size(); i-- > 0;) {
          if (!read[i]) continue;
          for (int v : graph->ops[i].operands) {
            if (v >= 0) read[v / kMostOutputs] = true;
          }
          if (set_.instances()[graph->ops[i].instance].num_outputs < 2) continue;
          if (reader[i] < part.size()) join(o, reader[i]);
          reader[i] = o;
        }
      }
    }
    for (size_t p = 0; p < part.size(); ++p) {
      Pair some = pair;
      some.source.outputs.clear();
      some.target.outputs.clear();
      for (size_t o = 0; o < part.size(); ++o) {
        if (part[o] != p || source_forms[o] == target_forms[o]) continue;
        some.source.outputs.push_back(pair.source.outputs[o]);
        some.target.outputs.push_back(pair.target.outputs[o]);
      }
      if (some.source.outputs.empty()) continue;
      if (some.source.outputs.size() == 1 &&
          known_.AreJoined(known_.Intern(some.source, input_types_),
                           known_.Intern(some.target, input_types_), kProved)) {
        continue;
      }
      RemoveUnread(&some.source);
      RemoveUnread(&some.target);
      ++result_.stats.pairs;
      const NamedPair named = Named(&some);
      if (!seen_.insert(named.key).second) continue;
      ++result_.stats.candidates;
      found->emplace(
          Place{-named.num_variables, some.source.ops.size() + some.target.ops.size(), named.key},
          std::move(some));
    }
  }

  // Turns the pair around if only so the target has no variable of its own.
  NamedPair Named(Pair* pair) const {
    NamedPair named = WithoutNames(set_, *pair);
    if (named.covers) return named;
    NamedPair turned = WithoutNames(set_, {pair->target, pair->source});
    if (!turned.covers) return named;
    std::swap(pair->source, pair->target);
    return turned;
  }

  void Prepare(Candidate* candidate) {
    candidate->named = Named(&candidate->pair);
    candidate->types.clear();
    for (int v : candidate->named.inputs) {
      const size_t input = static_cast<size_t>(-1 - v);
      candidate->types.push_back(
          input_types_[input < input_types_.size()
                           ? input
                           : candidate->more_inputs[input - input_types_.size()]]);
    }
    InternSides(candidate);
  }
  void InternSides(Candidate* candidate) {
    candidate->sources = known_.Intern(candidate->named.pair.source, candidate->types);
    candidate->targets = known_.Intern(candidate->named.pair.target, candidate->types);
  }

  std::string Text(const Candidate& candidate) const {
    return ToString(set_, candidate.named.pair, Names::kVariables);
  }

  absl::Status DecideAll(std::deque<Candidate> candidates) {
    const size_t all = candidates.size();
    std::deque<Candidate> waiting;
    while (!candidates.empty()) {
      LEMMA_RETURN_IF_ERROR(Check());
      std::vector<Candidate> batch;
      for (; !candidates.empty() && batch.size() < kBatch; candidates.pop_front()) {
        Candidate& candidate = candidates.front();
        LEMMA_ASSIGN_OR_RETURN(const bool open, IsOpen(&candidate));
        if (!open) continue;
        if (known_.AreJoined(candidate.sources, candidate.targets,
                             candidate.With(Means::kGuarded))) {
          LEMMA_ASSIGN_OR_RETURN(const bool general, PassesTest(candidate));
          if (!general) {
            NotTried(candidate, Means::kGuarded, "needs a guard, and follows from what has one");
            continue;
          }
        } else if (known_.AreJoined(candidate.sources, candidate.targets,
                                    candidate.With(Means::kSuspected))) {
          waiting.push_back(std::move(candidate));
          continue;
        }
        batch.push_back(std::move(candidate));
      }
      LEMMA_RETURN_IF_ERROR(Decide(std::move(batch)));
      Progress("proving", all - candidates.size(), all);
    }
    return Retry(std::move(waiting));
  }

  // Those that follow from what is refuted or unknown may be true by themselves.
  absl::Status Retry(std::deque<Candidate> waiting) {
    size_t tried = 0;
    while (!waiting.empty()) {
      LEMMA_RETURN_IF_ERROR(Check());
      std::vector<Candidate> batch;
      for (; !waiting.empty() && batch.size() < kBatch; waiting.pop_front()) {
        Candidate& candidate = waiting.front();
        InternSides(&candidate);
        if (IsDerived(candidate)) continue;
        bool open = tried < kMostRetried;
        if (open) {
          LEMMA_ASSIGN_OR_RETURN(open, PassesTest(candidate));
        }
        if (open) {
          ++tried;
          batch.push_back(std::move(candidate));
        } else {
          NotTried(candidate, Means::kSuspected, "follows from what is not proved");
        }
      }
      LEMMA_RETURN_IF_ERROR(Decide(std::move(batch)));
      Progress("proving what follows from what is not proved", tried, tried + waiting.size());
    }
    return absl::OkStatus();
  }

  void NotTried(const Candidate& candidate, Means::Trust trust, absl::string_view reason) {
    ++result_.stats.waiting;
    const int by = known_.FirstSuspect(candidate.sources, candidate.targets, candidate.With(trust));
    result_.rejected.push_back(
        {Text(candidate), "not tried",
         by < 0 ? std::string(reason) : absl::StrCat(reason, ": ", suspects_[by])});
  }

  // Whether it holds at some sizes other than those of the enumeration.
  absl::StatusOr<bool> PassesTest(const Candidate& candidate) const {
    FieldTestOptions options;
    options.instances = kTestInstances;
    options.seed = options_.seed;
    LEMMA_ASSIGN_OR_RETURN(const FieldTestResult tested, FieldTest(candidate.rule, options));
    return !tested.counterexample.has_value();
  }

  bool IsDerived(const Candidate& candidate) {
    const bool derived =
        known_.AreJoined(candidate.sources, candidate.targets, candidate.With(Means::kProved));
    result_.stats.derived += derived;
    return derived;
  }

  // Makes the rule, in its most general form. False if there is nothing to prove.
  absl::StatusOr<bool> IsOpen(Candidate* candidate) {
    Prepare(candidate);
    if (IsDerived(*candidate)) return false;
    LEMMA_ASSIGN_OR_RETURN(const bool equal, evaluator_.Confirm(candidate->pair));
    if (!equal) {
      ++result_.stats.unequal;
      return false;
    }
    LEMMA_ASSIGN_OR_RETURN(GeneralPair general, Generalized(&evaluator_, candidate->pair));
    if (!general.more_inputs.empty()) {
      candidate->pair = std::move(general.pair);
      candidate->more_inputs = std::move(general.more_inputs);
      const std::string key = candidate->named.key;
      Prepare(candidate);
      if (candidate->named.key != key && !seen_.insert(candidate->named.key).second) {
        ++result_.stats.derived;  // it was seen, or comes later
        return false;
      }
      if (IsDerived(*candidate)) return false;
    }
    std::optional<std::vector<DerivationStep>> steps =
        known_.Derive(candidate->sources, candidate->targets, candidate->With(Means::kProved));
    if (steps) {
      ++result_.stats.derived;
      known_.Add(candidate->named.pair, Means::kProved, *std::move(steps));
      return false;
    }
    auto rule = set_.Lift(candidate->named.pair, absl::StrCat("candidate_", ++number_));
    if (rule.ok()) {
      candidate->rule = *std::move(rule);
      return true;
    }
    if (!absl::IsInvalidArgument(rule.status())) return rule.status();
    ++result_.stats.unliftable;
    Reject(*candidate, "no general form", std::string(rule.status().message()));
    return false;
  }

  absl::Status Decide(std::vector<Candidate> candidates) {
    if (candidates.empty()) return absl::OkStatus();
    std::vector<Substitution> rules;
    for (Candidate& candidate : candidates) rules.push_back(std::move(candidate.rule));
    LEMMA_ASSIGN_OR_RETURN(std::vector<Decision> decisions, prove_(rules));
    for (size_t i = 0; i < decisions.size(); ++i) Record(candidates[i], std::move(decisions[i]));
    known_.ChoosePrecedence();
    return absl::OkStatus();
  }

  void Reject(const Candidate& candidate, const char* word, std::string reason) {
    Suspect(candidate, Means::kSuspected);
    result_.rejected.push_back({Text(candidate), word, std::move(reason)});
  }
  void Suspect(const Candidate& candidate, Means::Trust trust) {
    const int number = known_.Add(candidate.named.pair, trust);
    suspects_.emplace(number, Text(candidate));
  }

  void Record(Candidate& candidate, Decision decision) {
    GenerateStats& stats = result_.stats;
    switch (decision.answer) {
      case Decision::Answer::kProved:
        // Perhaps from one of the same batch.
        InternSides(&candidate);
        if (IsDerived(candidate)) return;
        ++stats.proved;
        numbers_.push_back(known_.Add(candidate.named.pair, Means::kProved));
        result_.rules.push_back({candidate.named.pair, std::move(decision.rule), false, {}});
        types_.push_back(candidate.types);
        return;
      case Decision::Answer::kGuarded:
        ++stats.guarded;
        // What it gives holds where its guard does, and perhaps elsewhere too.
        Suspect(candidate, Means::kGuarded);
        numbers_.push_back(-1);
        result_.rules.push_back({candidate.named.pair, std::move(decision.rule), true, {}});
        types_.push_back(candidate.types);
        return;
      case Decision::Answer::kRefuted:
        ++stats.refuted;
        return Reject(candidate, "refuted", std::move(decision.reason));
      case Decision::Answer::kUnknown:
        ++stats.unknown;
        return Reject(candidate, "unknown", std::move(decision.reason));
    }
  }

  // Later rules first: a rule is dropped if those that are left give it.
  absl::Status Finish() {
    std::vector<GeneratedRule>& rules = result_.rules;
    std::map<int, std::string> names;  // by pair
    for (size_t i = 0; i < rules.size(); ++i) {
      rules[i].rule.name = absl::StrCat("gen_", i + 1);
      names[numbers_[i]] = rules[i].rule.name;
    }
    known_.Clear();
    for (size_t i = rules.size(); i-- > 0;) {
      if (rules[i].guarded) continue;
      Progress("looking for rules that follow from others", rules.size() - i, rules.size());
      LEMMA_RETURN_IF_ERROR(Check());
      auto steps =
          known_.Derive(known_.Intern(rules[i].pair.source, types_[i]),
                        known_.Intern(rules[i].pair.target, types_[i]),
                        {Means::kProved, rules[i].pair.source.outputs.size() == 1}, numbers_[i]);
      if (!steps || steps->size() > kMostSteps) continue;
      known_.SetDerived(numbers_[i], *std::move(steps));
      ++result_.stats.pruned;
    }
    for (size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].guarded) continue;
      for (const DerivationStep& step : known_.StepsOf(numbers_[i])) {
        rules[i].follows_from.push_back(names[step.pair]);
      }
    }
    return absl::OkStatus();
  }

  OperatorSet& set_;
  const Enumerated& enumerated_;
  const GenerateOptions& options_;
  const Prover& prove_;
  Evaluator evaluator_;
  std::vector<int> input_types_;
  Derivation known_;
  std::map<int, std::string> suspects_;  // texts, by number
  absl::flat_hash_set<std::string> seen_;
  std::vector<int> numbers_;             // of rules among those known; -1: guarded
  std::vector<std::vector<int>> types_;  // of rules' variables
  int64_t number_ = 0;
  Generated result_;
};

}  // namespace

absl::StatusOr<Enumerated> Enumerate(
    OperatorSet* set, const EnumeratorOptions& options,
    const std::function<void(const std::string&, int64_t, int64_t)>& progress) {
  if (progress) progress("enumerating graphs", 0, 0);
  Enumerator enumerator(set, options);
  LEMMA_RETURN_IF_ERROR(enumerator.Run());
  Enumerated result;
  result.max_ops = options.max_ops;
  result.stats = enumerator.stats();
  // The source and target of an identity are a class as well.
  for (const Pair& pair : enumerator.identities()) {
    result.classes.push_back({{Compacted(pair.target), Compacted(pair.source)}});
  }
  LEMMA_RETURN_IF_ERROR(enumerator.ForEachClass([&](absl::Span<const CompactGraph> members) {
    result.classes.push_back({{members.begin(), members.end()}});
    return absl::OkStatus();
  }));
  return result;
}

absl::StatusOr<Generated> Generate(OperatorSet* set, const Enumerated& enumerated,
                                   const GenerateOptions& options, const Prover& prove) {
  return Generation(set, enumerated, options, prove).Run();
}

}  // namespace lemma::generator
