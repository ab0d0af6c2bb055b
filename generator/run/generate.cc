#include "generator/run/generate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "generator/derivation/derivation.h"
#include "generator/derivation/generalize.h"
#include "generator/run/pairs.h"
#include "generator/sets/terms.h"
#include "rewrite/derivation/randomized_check.h"

namespace lemma::generator {
namespace {

// Rules whose derivation takes more steps are kept.
constexpr size_t kMostSteps = 12;
constexpr int kTestInstances = 10;
constexpr size_t kClassesBetweenChecks = 1024;

// Candidates are decided in this order of stages, so that few attempts go to those that need more
// than a proof or are probably useless. The remaining ones are listed as not tried.
enum Stage {
  kGeneral,       // true at all sizes tested
  kNeedsGuard,    // false at some sizes, or tested at no others
  kUnderGuard,    // follows by rules with a guard
  kFromUnproved,  // follows from candidates that are refuted or unknown
  kNumStages,
};
struct StageInfo {
  const char* name;
  // Limits per size. Derivable candidates are tested first, and tried if true at all sizes tested.
  size_t most_tested, most_tried;
  // Number of candidates decided together. Those of one batch may follow from each other.
  size_t batch;
  const char* reason;
};
constexpr StageInfo kStages[] = {
    {"proving", SIZE_MAX, SIZE_MAX, 16, ""},
    {"proving what needs a guard", SIZE_MAX, 40, 4, "needs a guard"},
    {"proving what follows under a guard", 300, 40, 4, "follows under a guard"},
    {"proving what follows from what is not proved", 300, 40, 4, "follows from what is not proved"},
};

struct Candidate {
  Pair pair;                    // over inputs of the set
  std::vector<int> more_types;  // of inputs beyond those of the set
  std::optional<Pair> special;  // a special case of the pair, tried if the pair is not proved
  bool as_is = false;           // there is nothing more general to try
  NamedPair named;
  std::vector<int> types;             // of its variables
  std::vector<int> sources, targets;  // terms
  std::optional<Substitution> rule;
  std::optional<bool> passes;  // the check at other sizes

  // A split joins several outputs; elimination is off, since a rewriter must find the merge.
  DerivationOptions With(DerivationOptions::Trust trust) const {
    return {trust, sources.size() == 1};
  }
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
        known_(set),
        pairs_(set, &known_, &evaluator_, &result_.stats) {
    for (const Input& input : set->inputs()) input_types_.push_back(input.type);
  }

  absl::StatusOr<Generated> Run() {
    for (int size = 1; size <= enumerated_.max_ops; ++size) LEMMA_RETURN_IF_ERROR(DoSize(size));
    LEMMA_RETURN_IF_ERROR(Finish());
    return std::move(result_);
  }

 private:
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
    for (size_t i = 0; i < enumerated_.classes.size(); ++i) {
      LEMMA_RETURN_IF_ERROR(pairs_.Collect(enumerated_.classes[i], size));
      if (i % kClassesBetweenChecks == 0) {
        Progress(absl::StrCat("comparing graphs of ", size, " operators"), i,
                 enumerated_.classes.size());
        LEMMA_RETURN_IF_ERROR(Check());
      }
    }
    known_.Clear();
    for (auto& [priority, pair] : pairs_.Take()) {
      queues_[kGeneral].emplace_back().pair = std::move(pair);
    }
    for (int stage = 0; stage < kNumStages; ++stage) {
      LEMMA_RETURN_IF_ERROR(DoStage(static_cast<Stage>(stage)));
    }
    return absl::OkStatus();
  }

  absl::Status DoStage(Stage stage) {
    std::deque<Candidate>& queue = queues_[stage];
    tested_ = tried_ = 0;
    for (size_t done = 0; !queue.empty();) {
      LEMMA_RETURN_IF_ERROR(Check());
      std::vector<Candidate> batch;
      at_work_.clear();
      for (; !queue.empty() && batch.size() < kStages[stage].batch; ++done) {
        Candidate candidate = std::move(queue.front());
        queue.pop_front();
        LEMMA_ASSIGN_OR_RETURN(const bool open, IsOpen(&candidate));
        if (!open) continue;
        LEMMA_ASSIGN_OR_RETURN(const bool now, IsDue(stage, &candidate));
        if (!now) continue;
        at_work_.insert(candidate.named.key);
        decided_.insert(candidate.named.key);
        batch.push_back(std::move(candidate));
      }
      LEMMA_RETURN_IF_ERROR(Decide(std::move(batch)));
      for (; !again_.empty(); again_.pop_back()) queue.push_front(std::move(again_.back()));
      Progress(kStages[stage].name, done, done + queue.size());
    }
    return absl::OkStatus();
  }

  // Whether to decide it in this stage. If not, moves it to another queue or lists it as not tried.
  absl::StatusOr<bool> IsDue(Stage stage, Candidate* candidate) {
    Stage due = kGeneral;
    if (Follows(*candidate, DerivationOptions::kGuarded)) {
      due = kUnderGuard;
    } else if (Follows(*candidate, DerivationOptions::kSuspected)) {
      due = kFromUnproved;
    } else {
      LEMMA_ASSIGN_OR_RETURN(const bool passes, PassesTest(candidate));
      if (!passes) due = kNeedsGuard;
    }
    if (due > stage) {
      queues_[due].push_back(std::move(*candidate));
      return false;
    }
    LEMMA_ASSIGN_OR_RETURN(const bool has_rule, HasRule(candidate));
    if (!has_rule) return false;
    const StageInfo& info = kStages[due];
    bool tried = due < stage || tried_ < info.most_tried;
    if (tried && due > kNeedsGuard) {
      tried = candidate->passes || tested_++ < info.most_tested;
      if (tried) {
        LEMMA_ASSIGN_OR_RETURN(tried, PassesTest(candidate));
      }
    }
    if (!tried) NotTried(candidate, due);
    tried_ += tried && due == stage;
    return tried;
  }

  bool Follows(const Candidate& candidate, DerivationOptions::Trust trust) {
    return known_.AreJoined(candidate.sources, candidate.targets, candidate.With(trust));
  }
  bool IsDerived(const Candidate& candidate) {
    const bool derived = Follows(candidate, DerivationOptions::kProved);
    if (derived) CountDerived(candidate);
    return derived;
  }
  void CountDerived(const Candidate& candidate) {
    result_.stats.derived += candidate.special ? 2 : 1;
  }

  // Whether it is still undecided. An open candidate has a rule unless it follows by guarded rules.
  absl::StatusOr<bool> IsOpen(Candidate* candidate) {
    Prepare(candidate);
    if (decided_.contains(candidate->named.key)) {
      LookAtSpecialCase(candidate);
      return false;
    }
    if (IsDerived(*candidate)) return false;
    if (candidate->rule || Follows(*candidate, DerivationOptions::kGuarded)) return true;
    if (!candidate->special) {
      LEMMA_ASSIGN_OR_RETURN(const bool equal, evaluator_.Confirm(candidate->pair));
      if (!equal) {
        ++result_.stats.unequal;
        return false;
      }
    }
    if (!candidate->as_is) {
      LEMMA_ASSIGN_OR_RETURN(const bool now, Generalize(candidate));
      if (!now) return false;
    }
    if (IsKnownBySteps(*candidate)) return false;
    if (Follows(*candidate, DerivationOptions::kGuarded)) return true;
    return HasRule(candidate);
  }

  absl::StatusOr<bool> HasRule(Candidate* candidate) {
    if (candidate->rule) return true;
    auto rule = set_.Lift(candidate->named.pair, absl::StrCat("candidate_", ++number_));
    if (rule.ok()) {
      candidate->rule = *std::move(rule);
      return true;
    }
    if (!absl::IsInvalidArgument(rule.status())) return rule.status();
    ++result_.stats.unliftable;
    Reject(*candidate, "no general form", std::string(rule.status().message()));
    LookAtSpecialCase(candidate);
    return false;
  }

  // Replaces the candidate by a more general pair that is not decided yet, if there is one. Returns
  // false if the general pair is proved or in progress.
  absl::StatusOr<bool> Generalize(Candidate* candidate) {
    candidate->as_is = true;
    LEMMA_ASSIGN_OR_RETURN(GeneralPair general,
                           Generalized(&evaluator_, &known_.store(), candidate->pair));
    if (general.more_types.empty()) return true;
    Candidate other;
    other.pair = std::move(general.pair);
    other.more_types = std::move(general.more_types);
    other.as_is = true;
    Prepare(&other);
    if (at_work_.contains(other.named.key)) {
      again_.push_back(std::move(*candidate));
      return false;
    }
    if (decided_.contains(other.named.key)) return true;
    if (IsDerived(other) || IsKnownBySteps(other)) return false;
    result_.stats.candidates += pairs_.IsNew(other.named.key);
    other.special = std::move(candidate->pair);
    *candidate = std::move(other);
    return true;
  }

  // Tries the special case of a generalized pair that was not proved.
  void LookAtSpecialCase(Candidate* candidate) {
    if (!candidate->special) return;
    Candidate& special = again_.emplace_back();
    special.pair = *std::move(candidate->special);
    special.as_is = true;
    candidate->special.reset();
  }

  bool IsKnownBySteps(const Candidate& candidate) {
    auto steps = known_.Derive(candidate.sources, candidate.targets,
                               candidate.With(DerivationOptions::kProved));
    if (!steps) return false;
    CountDerived(candidate);
    known_.Add(candidate.named.pair, DerivationOptions::kProved, *std::move(steps),
               candidate.types);
    return true;
  }

  void Prepare(Candidate* candidate) {
    candidate->named = OrientWithoutNames(set_, &candidate->pair);
    candidate->types.clear();
    for (int v : candidate->named.inputs) {
      const size_t input = static_cast<size_t>(-1 - v);
      candidate->types.push_back(input < input_types_.size()
                                     ? input_types_[input]
                                     : candidate->more_types[input - input_types_.size()]);
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

  void NotTried(Candidate* candidate, Stage stage) {
    ++result_.stats.not_tried;
    const int by =
        known_.FirstSuspect(candidate->sources, candidate->targets,
                            candidate->With(stage == kFromUnproved ? DerivationOptions::kSuspected
                                                                   : DerivationOptions::kGuarded));
    std::string reason = kStages[stage].reason;
    if (by >= 0) absl::StrAppend(&reason, ": ", suspects_[by]);
    result_.rejected.push_back({Text(*candidate), "not tried", std::move(reason)});
    LookAtSpecialCase(candidate);
  }

  // Whether it holds at some sizes other than those of the enumeration.
  absl::StatusOr<bool> PassesTest(Candidate* candidate) const {
    if (!candidate->passes) {
      RandomizedCheckOptions options;
      options.instances = kTestInstances;
      options.seed = options_.seed;
      LEMMA_ASSIGN_OR_RETURN(const RandomizedCheckResult tested,
                             RandomizedCheck(*candidate->rule, options));
      candidate->passes = tested.instances > 0 && !tested.counterexample.has_value();
    }
    return *candidate->passes;
  }

  absl::Status Decide(std::vector<Candidate> candidates) {
    if (candidates.empty()) return absl::OkStatus();
    std::vector<Substitution> rules;
    rules.reserve(candidates.size());
    for (Candidate& candidate : candidates) rules.push_back(*std::move(candidate.rule));
    LEMMA_ASSIGN_OR_RETURN(std::vector<Decision> decisions, prove_(rules));
    for (size_t i = 0; i < decisions.size(); ++i) Record(&candidates[i], std::move(decisions[i]));
    return absl::OkStatus();
  }

  void Reject(const Candidate& candidate, const char* word, std::string reason) {
    Suspect(candidate, DerivationOptions::kSuspected);
    result_.rejected.push_back({Text(candidate), word, std::move(reason)});
  }
  void Suspect(const Candidate& candidate, DerivationOptions::Trust trust) {
    const int number = known_.Add(candidate.named.pair, trust, {}, candidate.types);
    suspects_.emplace(number, Text(candidate));
  }

  void Record(Candidate* candidate, Decision decision) {
    GenerateStats& stats = result_.stats;
    InternSides(candidate);
    // It may follow from one of the same batch.
    if (decision.answer == Decision::Answer::kProved && IsDerived(*candidate)) return;
    switch (decision.answer) {
      case Decision::Answer::kProved:
        ++stats.proved;
        stats.derived += candidate->special.has_value();
        numbers_.push_back(
            known_.Add(candidate->named.pair, DerivationOptions::kProved, {}, candidate->types));
        Keep(*candidate, std::move(decision.rule), false);
        return;
      case Decision::Answer::kGuarded:
        ++stats.guarded;
        // A pair that follows from it holds where the guard does, and perhaps elsewhere.
        Suspect(*candidate, DerivationOptions::kGuarded);
        numbers_.push_back(-1);
        Keep(*candidate, std::move(decision.rule), true);
        break;
      case Decision::Answer::kRefuted:
        ++stats.refuted;
        Reject(*candidate, "refuted", std::move(decision.reason));
        break;
      case Decision::Answer::kUnknown:
        ++stats.unknown;
        Reject(*candidate, "unknown", std::move(decision.reason));
        break;
    }
    LookAtSpecialCase(candidate);
  }
  void Keep(const Candidate& candidate, Substitution rule, bool guarded) {
    result_.rules.push_back({candidate.named.pair, std::move(rule), guarded, {}});
    types_.push_back(candidate.types);
  }

  // Marks each rule, later ones first, that follows from the remaining ones.
  absl::Status Finish() {
    std::vector<GeneratedRule>& rules = result_.rules;
    std::map<int, std::string> names;  // by pair
    for (size_t i = 0; i < rules.size(); ++i) {
      rules[i].rule.name = absl::StrCat("gen_", i + 1);
      names[numbers_[i]] = rules[i].rule.name;
    }
    known_.Clear();
    std::map<int, const Pair*> pairs;
    for (size_t i = 0; i < rules.size(); ++i) pairs[numbers_[i]] = &rules[i].pair;
    // Steps from x to transpose(transpose(x)), for example, are not found by a rewriter.
    auto introduces = [&](const DerivationStep& step) {
      const Pair& pair = *pairs[step.pair];
      return (step.backward ? pair.target : pair.source).ops.empty();
    };
    for (size_t i = rules.size(); i-- > 0;) {
      if (rules[i].guarded) continue;
      Progress("looking for rules that follow from others", rules.size() - i, rules.size());
      LEMMA_RETURN_IF_ERROR(Check());
      auto steps = known_.Derive(
          known_.Intern(rules[i].pair.source, types_[i]),
          known_.Intern(rules[i].pair.target, types_[i]),
          {DerivationOptions::kProved, rules[i].pair.source.outputs.size() == 1}, numbers_[i]);
      if (!steps || steps->size() > kMostSteps) continue;
      if (std::any_of(steps->begin(), steps->end(), introduces)) continue;
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
  Generated result_;
  Evaluator evaluator_;
  std::vector<int> input_types_;
  Derivation known_;
  PairCollector pairs_;
  std::map<int, std::string> suspects_;  // texts, by number
  std::array<std::deque<Candidate>, kNumStages> queues_;
  std::deque<Candidate> again_;  // to be tried when the current batch is decided
  // Keys: of all sizes, and of the current batch.
  absl::flat_hash_set<std::string> decided_, at_work_;
  std::vector<int> numbers_;             // by rule: the number of its pair in known_; -1: guarded
  std::vector<std::vector<int>> types_;  // of rules' variables
  int64_t number_ = 0;
  size_t tested_ = 0, tried_ = 0;  // in this stage
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
  // An identity's source and target form a class too.
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
