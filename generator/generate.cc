#include "generator/generate.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "generator/derivation.h"
#include "generator/generalize.h"
#include "generator/terms.h"
#include "graph/expr/parallel.h"
#include "graph/ops/status_macros.h"

namespace lemma::generator {
namespace {

class Generation {
 public:
  Generation(OperatorSet* set, const Enumerated& enumerated, const GenerateOptions& options,
             const Prover& prove)
      : set_(*set),
        enumerated_(enumerated),
        options_(options),
        prove_(prove),
        evaluator_(set, options.seed) {}

  absl::StatusOr<Generated> Run() {
    for (int size = 1; size <= enumerated_.max_ops; ++size) LEMMA_RETURN_IF_ERROR(DoSize(size));
    Finish();
    return std::move(result_);
  }

 private:
  void Progress(const std::string& what, int64_t done, int64_t all) {
    if (options_.progress) options_.progress(what, done, all);
  }

  absl::Status CheckInterrupted() const {
    return options_.interrupted != nullptr && *options_.interrupted ? absl::CancelledError("interrupted") : absl::OkStatus();
  }

  // Pairs of the members of at most `size` operators that the rules so far do not connect.
  std::vector<Pair> Unconnected(const ValueClass& one, size_t size) const {
    std::vector<Pair> pairs;
    size_t count = 0;
    while (count < one.members.size() && one.members[count].ops.size() <= size) ++count;
    if (count < 2) return pairs;
    std::vector<size_t> parent(count);
    std::iota(parent.begin(), parent.end(), 0);
    auto find = [&](size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    absl::flat_hash_map<std::string, size_t> place;
    for (size_t i = 0; i < count; ++i) place.emplace(KeyOf(set_, one.members[i]), i);
    for (size_t i = 0; i < count; ++i) {
      rules_.ForEachNeighbour(one.members[i], [&](const TermGraph& graph, int) {
        auto it = place.find(KeyOf(set_, graph));
        if (it == place.end()) return;
        const size_t a = find(i), b = find(it->second);
        parent[std::max(a, b)] = std::min(a, b);
      });
    }
    for (size_t i = 1; i < count; ++i) {
      if (find(i) == i) pairs.push_back({one.members[i], one.members[0]});
    }
    return pairs;
  }

  absl::Status DoSize(int size) {
    std::vector<const ValueClass*> classes;
    for (const ValueClass& one : enumerated_.classes) {
      if (one.members[1].ops.size() <= static_cast<size_t>(size)) classes.push_back(&one);
    }
    std::vector<std::vector<Pair>> pairs(classes.size());
    Progress("comparing graphs", 0, static_cast<int64_t>(classes.size()));
    ParallelFor(options_.threads, static_cast<int64_t>(classes.size()),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    if (!CheckInterrupted().ok()) return;
                    pairs[i] = Unconnected(*classes[i], size);
                  }
                });
    LEMMA_RETURN_IF_ERROR(CheckInterrupted());
    // Those with more variables say more; they come first, and others may follow from them.
    std::map<int, std::map<std::pair<size_t, std::string>, Pair>> by_variables;
    for (const std::vector<Pair>& some : pairs) {
      for (const Pair& pair : some) {
        LEMMA_ASSIGN_OR_RETURN(const bool equal, evaluator_.Confirm(pair));
        if (!equal) continue;
        ++result_.stats.pairs;
        LEMMA_ASSIGN_OR_RETURN(const Pair general, Generalized(&evaluator_, pair));
        NamedPair named = WithoutNames(set_, general);
        if (!named.covers) {
          NamedPair turned = WithoutNames(set_, {general.target, general.source});
          if (turned.covers) named = std::move(turned);
        }
        if (!seen_.insert(named.key).second) continue;
        ++result_.stats.candidates;
        const size_t ops = named.pair.source.ops.size() + named.pair.target.ops.size();
        by_variables[-named.num_variables].emplace(std::make_pair(ops, named.key), named.pair);
      }
    }
    for (const auto& [variables, candidates] : by_variables) {
      std::map<size_t, std::vector<Pair>> by_ops;
      for (const auto& [place, pair] : candidates) by_ops[place.first].push_back(pair);
      for (const auto& [ops, some] : by_ops) LEMMA_RETURN_IF_ERROR(Decide(some));
    }
    return absl::OkStatus();
  }

  absl::Status Decide(const std::vector<Pair>& candidates) {
    std::vector<Pair> pairs;
    std::vector<Substitution> lifted;
    for (const Pair& pair : candidates) {
      if (!rules_.Derive(pair, -1).empty()) {
        ++result_.stats.derived;
        continue;
      }
      if (const std::vector<int> by = undecided_.Derive(pair, -1); !by.empty()) {
        ++result_.stats.waiting;
        result_.rejected.push_back(
            {ToString(set_, pair, Names::kVariables), "not tried",
             absl::StrCat("follows from what is unknown: ", undecided_texts_[by.front()])});
        continue;
      }
      auto rule = set_.Lift(pair, absl::StrCat("candidate_", ++number_));
      if (!rule.ok()) {
        if (!absl::IsInvalidArgument(rule.status())) return rule.status();
        ++result_.stats.unliftable;
        result_.rejected.push_back({ToString(set_, pair, Names::kVariables), "no general form",
                                    std::string(rule.status().message())});
        continue;
      }
      pairs.push_back(pair);
      lifted.push_back(*std::move(rule));
    }
    if (lifted.empty()) return absl::OkStatus();
    Progress("proving", number_, result_.stats.candidates);
    LEMMA_ASSIGN_OR_RETURN(std::vector<Decision> decisions, prove_(lifted));
    for (size_t i = 0; i < decisions.size(); ++i) Record(pairs[i], std::move(decisions[i]));
    return absl::OkStatus();
  }

  void Record(const Pair& pair, Decision decision) {
    GenerateStats& stats = result_.stats;
    switch (decision.answer) {
      case Decision::Answer::kProved:
      case Decision::Answer::kGuarded: {
        const bool guarded = decision.answer == Decision::Answer::kGuarded;
        ++(guarded ? stats.guarded : stats.proved);
        // What a guarded rule gives holds where its guard does, and perhaps elsewhere too.
        rules_.Add(pair, !guarded);
        result_.rules.push_back({pair, std::move(decision.rule), guarded, {}});
        return;
      }
      case Decision::Answer::kRefuted:
        ++stats.refuted;
        result_.rejected.push_back(
            {ToString(set_, pair, Names::kVariables), "refuted", decision.reason});
        return;
      case Decision::Answer::kUnknown:
        ++stats.unknown;
        undecided_.Add(pair, true);
        undecided_texts_.push_back(ToString(set_, pair, Names::kVariables));
        result_.rejected.push_back(
            {ToString(set_, pair, Names::kVariables), "unknown", decision.reason});
    }
  }

  // Later rules first: a rule is dropped if those that are left give it.
  void Finish() {
    for (size_t i = 0; i < result_.rules.size(); ++i) {
      result_.rules[i].rule.name = absl::StrCat("gen_", i + 1);
    }
    for (size_t i = result_.rules.size(); i-- > 0;) {
      GeneratedRule& rule = result_.rules[i];
      if (rule.guarded) continue;
      for (int by : rules_.Derive(rule.pair, static_cast<int>(i))) {
        rule.follows_from.push_back(result_.rules[by].rule.name);
      }
      if (rule.follows_from.empty()) continue;
      rules_.Disable(static_cast<int>(i));
      ++result_.stats.pruned;
    }
  }

  OperatorSet& set_;
  const Enumerated& enumerated_;
  const GenerateOptions& options_;
  const Prover& prove_;
  Evaluator evaluator_;
  Derivation rules_{set_};
  Derivation undecided_{set_};
  std::vector<std::string> undecided_texts_;
  std::set<std::string> seen_;
  int64_t number_ = 0;
  Generated result_;
};

}  // namespace

absl::StatusOr<Enumerated> Enumerate(
    OperatorSet* set, const EnumeratorOptions& options,
    const std::function<void(const std::string&, int64_t, int64_t)>& progress) {
  auto report = [&](const std::string& what, int64_t done, int64_t all) {
    if (progress) progress(what, done, all);
  };
  report("enumerating graphs", 0, 0);
  Enumerator enumerator(set, options);
  LEMMA_RETURN_IF_ERROR(enumerator.Run());
  Enumerated result;
  result.max_ops = options.max_ops;
  result.stats = enumerator.stats();
  // The source and target of an identity are a class as well.
  for (const Pair& pair : enumerator.identities()) result.classes.push_back({{pair.target, pair.source}});
  LEMMA_ASSIGN_OR_RETURN(std::vector<Enumerator::Class> found, enumerator.Classes());
  int64_t done = 0;
  for (Enumerator::Class& one : found) {
    // The key that found them looks at some elements, of one run.
    std::map<uint64_t, ValueClass> exact;
    for (TermGraph& member : one.members) {
      LEMMA_ASSIGN_OR_RETURN(const uint64_t key, enumerator.evaluator().ExactKey(member));
      exact[key].members.push_back(std::move(member));
    }
    for (auto& [key, members] : exact) {
      if (members.members.size() > 1) result.classes.push_back(std::move(members));
    }
    if (++done % 1000 == 0) {
      report("evaluating candidates", done, static_cast<int64_t>(found.size()));
      if (options.interrupted != nullptr && *options.interrupted) {
        return absl::CancelledError("interrupted");
      }
    }
  }
  return result;
}

absl::StatusOr<Generated> Generate(OperatorSet* set, const Enumerated& enumerated,
                                   const GenerateOptions& options, const Prover& prove) {
  return Generation(set, enumerated, options, prove).Run();
}

}  // namespace lemma::generator
