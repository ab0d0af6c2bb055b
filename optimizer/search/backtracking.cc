#include "optimizer/search/backtracking.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "optimizer/cost/plan_comparison.h"
#include "optimizer/search/explorer.h"
#include "optimizer/search/pareto_front.h"
#include "optimizer/search/partition.h"
#include "optimizer/search/rewrite_steps.h"
#include "optimizer/search/workspace.h"

namespace lemma::optimizer {
namespace {

Cost CostOf(const Rank& rank) {
  return Cost::Nanoseconds(static_cast<double>(rank.ns)).WithPeak(rank.peak_bytes);
}

// One run of the search.
class BacktrackingRun {
 public:
  BacktrackingRun(const Graph& graph, const std::vector<const PreparedRule*>& rules,
                  CostModel* costs, const BacktrackingOptions& options, const Cost& initial_cost,
                  const Search::OnProgress& progress)
      : graph_(graph),
        stages_(StagesOf(rules)),
        rules_(stages_[0]),
        costs_(*costs),
        options_(options),
        initial_cost_(initial_cost),
        progress_(progress),
        work_(graph, rules_, costs, &plans_, options.objective),
        budget_(options.limits, [this](int64_t queued) { return Report(queued); }) {}

  absl::StatusOr<SearchResult> Do() {
    const std::clock_t start = std::clock();
    const std::vector<Objective> phases = Phases();
    bool was_interrupted = false;
    for (size_t i = 0; i < phases.size(); ++i) {
      work_.GoTo(nullptr);
      work_.SetObjective(phases[i]);
      const auto left = static_cast<int64_t>(phases.size() - i);
      const int64_t until = budget_.steps() + (budget_.max_steps() - budget_.steps()) / left;
      absl::Status s = Phase(until);
      // Results of an interrupted measurement stay unknown; the best state so far remains valid.
      was_interrupted = absl::IsCancelled(s);
      if (was_interrupted) break;
      if (!s.ok()) return s;
    }
    SearchResult result;
    if (HasFront()) TakeFromFront(phases.back(), &result.front);
    result.initial_cost = initial_cost_;
    result.stop =
        was_interrupted ? StopReason::kCancelled : budget_.stop().value_or(StopReason::kExhausted);
    result.steps = budget_.steps();
    result.search_seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (absl::Status s = Describe(&result); !s.ok()) return s;
    return result;
  }

 private:
  bool Report(int64_t queued) {
    if (!progress_) return true;
    SearchProgress now;
    now.steps = budget_.steps();
    now.queued = queued;
    now.initial = initial_cost_;
    now.best = CostOf(best_.rank);
    now.num_rewrites = LengthOf(best_.path);
    return progress_(now);
  }

  bool HasFront() const { return options_.objective.goal == Objective::Goal::kPareto; }

  // The objectives to search for, in order.
  std::vector<Objective> Phases() const {
    Objective last = options_.objective.Deciding();
    last.reference = initial_cost_;
    if (!HasFront()) return {last};
    Objective time, memory;
    memory.goal = Objective::Goal::kMemory;
    return {time, memory, last};
  }

  // Searches for the current objective, up to step number `until`. Sets best_ and descended_.
  absl::Status Phase(int64_t until) {
    UseRules(stages_[0]);
    Explorer explorer(&work_, &budget_, options_.alpha, HasFront() ? &front_ : nullptr);
    auto exact = ExactState(&work_);
    if (!exact.ok()) return exact.status();
    const SearchState initial = *std::move(exact);
    if (HasFront()) front_.Offer(initial.rank, [] { return nullptr; });
    best_ = certain_ = descended_ = initial_ = initial;
    absl::Status certainly = explorer.DescendCertainly(&best_);
    certain_ = descended_ = best_;
    if (!certainly.ok()) return certainly;
    for (const RuleIndexPtr& rules : stages_) {
      UseRules(rules);
      if (absl::Status s = Stage(until); !s.ok()) return s;
    }
    const bool is_used_up = budget_.stop().value_or(StopReason::kSteps) == StopReason::kSteps;
    if (!options_.finish || !is_used_up) return absl::OkStatus();
    return options_.finish(&work_, &budget_, &best_);
  }

  // The rules in stages: those that are not late, then all. Late rules cannot take steps of the
  // budget from the others, so they do not make a result worse.
  static std::vector<RuleIndexPtr> StagesOf(const std::vector<const PreparedRule*>& rules) {
    std::vector<const PreparedRule*> early;
    for (const PreparedRule* rule : rules) {
      if (!rule->is_late) early.push_back(rule);
    }
    std::vector<RuleIndexPtr> stages;
    if (!early.empty() && early.size() < rules.size()) {
      stages.push_back(std::make_shared<const RuleIndex>(std::move(early)));
    }
    stages.push_back(std::make_shared<const RuleIndex>(rules));
    return stages;
  }

  void UseRules(const RuleIndexPtr& rules) {
    if (rules == rules_) return;
    rules_ = rules;
    work_.SetRules(rules);
  }

  // Searches with the rules of the current stage, from best_ and the initial graph.
  absl::Status Stage(int64_t until) {
    Explorer explorer(&work_, &budget_, options_.alpha, HasFront() ? &front_ : nullptr);
    if (absl::Status s = explorer.Descend(&best_, /*ignore_steps=*/true); !s.ok()) return s;
    if (rules_ == stages_[0]) descended_ = best_;
    if (options_.descend_only) return absl::OkStatus();
    auto in_parts = SearchParts(until, &explorer);
    if (!in_parts.ok()) return in_parts.status();
    if (HasFront()) budget_.ShareUntil(until);
    // A large graph is not explored as a whole when estimating: it has too many graphs around it,
    // and errors of estimates would accumulate in the queue.
    absl::Status status = work_.IsEstimating() && *in_parts
                              ? explorer.ApplyEachRule(&best_)
                              : explorer.Explore({initial_, descended_, best_}, &best_);
    budget_.ShareUntil(std::nullopt);
    return status;
  }

  // Takes as best the graph of the front that the last objective prefers.
  void TakeFromFront(const Objective& objective, std::vector<FrontPoint>* points) {
    std::optional<Rank> least;
    size_t best = 0;
    for (const auto& [ns, point] : front_.points()) {
      const Cost cost = CostOf(point.rank);
      const Rank rank = objective.RankOf(cost, point.rank.ops);
      if (!least || rank < *least) {
        least = rank;
        best = points->size();
        best_.path = point.path;
      }
      points->push_back({cost, point.rank.ops, false});
    }
    if (!points->empty()) (*points)[best].is_best = true;
  }

  // Writes the graphs found, and the steps to them.
  absl::Status Describe(SearchResult* result) {
    work_.GoTo(descended_.path);
    result->descended = work_.graph().ToGraph();
    work_.GoTo(best_.path);
    result->best = work_.graph().ToGraph();
    auto best_cost = costs_.CostOf(result->best);
    // After an interruption nothing more is measured.
    if (absl::IsCancelled(best_cost.status())) best_cost = costs_.EstimateOf(result->best);
    if (!best_cost.ok()) return best_cost.status();
    result->best_cost = *best_cost;
    work_.GoTo(certain_.path);
    result->certain = work_.graph().ToGraph();
    if (absl::Status s = PriceOthers(result); !s.ok()) return s;
    result->certain_rewrites = StepsOf(graph_, MatchedEditsOf(certain_.path));
    result->best_is_certain = IsCertainlyBetter(best_, initial_, &costs_);
    result->descended_is_certain = IsCertainlyBetter(descended_, initial_, &costs_);
    const std::vector<MatchedEditPtr> way = MatchedEditsOf(best_.path),
                                      first = MatchedEditsOf(descended_.path);
    result->rewrites = StepsOf(graph_, way);
    if (absl::Status s = PriceSteps(best_.path, &result->rewrites); !s.ok()) return s;
    if (absl::Status s = PriceSteps(certain_.path, &result->certain_rewrites); !s.ok()) return s;
    const bool is_on_the_way =
        first.size() <= way.size() && std::equal(first.begin(), first.end(), way.begin());
    if (is_on_the_way) {
      result->descended_rewrites = result->rewrites;
      result->descended_rewrites.resize(first.size());
      return absl::OkStatus();
    }
    result->descended_rewrites = StepsOf(graph_, first);
    return PriceSteps(descended_.path, &result->descended_rewrites);
  }

  // Prices the other graphs of the result after the search as well, since kernels that were
  // uncertain may have been measured again.
  absl::Status PriceOthers(SearchResult* result) {
    for (const auto& [graph, cost] : {std::pair(&graph_, &result->initial_cost),
                                      {&result->certain, &result->certain_cost},
                                      {&result->descended, &result->descended_cost}}) {
      auto price = costs_.CostOf(*graph);
      if (absl::IsCancelled(price.status())) price = costs_.EstimateOf(*graph);
      if (!price.ok()) return price.status();
      *cost = *price;
    }
    return absl::OkStatus();
  }

  // Sets the prices of `steps`, the steps of `path`.
  absl::Status PriceSteps(const RewritePathPtr& path, std::vector<RewriteStep>* steps) {
    if (!options_.price_steps) return absl::OkStatus();
    work_.GoTo(path);
    auto after = work_.Kernels();
    if (!after.ok()) return after.status();
    RewritePathPtr at = path;
    for (auto step = steps->rbegin(); step != steps->rend(); ++step, at = at->before) {
      work_.GoTo(at);
      auto rank = work_.Price();
      if (absl::IsCancelled(rank.status())) return absl::OkStatus();
      if (!rank.ok()) return rank.status();
      step->cost = CostOf(*rank);
      work_.GoTo(at->before);
      auto before = work_.Kernels();
      if (!before.ok()) return before.status();
      if (*before != nullptr && *after != nullptr) {
        const PlanDifference difference = DifferenceOf(**before, **after);
        auto times = CompareTimes(difference, &costs_);
        if (absl::IsCancelled(times.status())) return absl::OkStatus();
        if (!times.ok()) return times.status();
        step->change = {times->ns, times->error_ns, CannotLose(difference, &costs_)};
      }
      after = std::move(before);
    }
    return absl::OkStatus();
  }

  // Explores the parts of the best graph so far, equal ones once, with half of the steps up to
  // `until`, and applies the results to the whole graph. Returns false if there is one part only.
  absl::StatusOr<bool> SearchParts(int64_t until, Explorer* explorer) {
    work_.GoTo(best_.path);
    const std::vector<Part> parts = Partition(work_.graph());
    if (parts.size() < 2) return false;
    std::map<std::vector<uint64_t>, size_t> numbers;
    std::vector<std::vector<const Part*>> alike;  // in the order of their first ones
    int64_t ops = 0;
    for (const Part& part : parts) {
      auto [entry, is_new] = numbers.emplace(part.key, alike.size());
      if (is_new) {
        alike.emplace_back();
        ops += part.num_ops;
      }
      alike[entry->second].push_back(&part);
    }
    const int64_t half = budget_.steps() + (until - budget_.steps()) / 2;
    for (const auto& members : alike) {
      if (budget_.Stopped()) break;
      const int64_t left = std::max<int64_t>(0, half - budget_.steps());
      budget_.ShareUntil(budget_.steps() + left * members[0]->num_ops / ops);
      ops -= members[0]->num_ops;
      absl::Status s = SearchPart(members);
      budget_.ShareUntil(std::nullopt);
      if (!s.ok()) return s;
    }
    if (absl::Status s = ChangeAllParts(); !s.ok()) return s;
    // Descends on rewrites across borders, and on those that the parts' rewrites enabled.
    if (absl::Status s = explorer->Descend(&best_, /*ignore_steps=*/true); !s.ok()) return s;
    return true;
  }

  absl::Status SearchPart(const std::vector<const Part*>& members) {
    // Only the whole graph shows whether a limit is kept. If it is not, parts must shrink.
    Objective objective = work_.objective();
    objective.memory_limit = 0;
    if (best_.rank.over > 0) objective.goal = Objective::Goal::kMemory;
    auto part = std::make_unique<Workspace>(members[0]->nodes, members[0]->outputs, rules_, &costs_,
                                            &plans_, objective);
    if (objective.goal == Objective::Goal::kProduct) {
      auto reference = costs_.CostOf(part->graph().ToGraph());
      if (!reference.ok()) return reference.status();
      objective.reference = *reference;
      part->SetObjective(objective);
    }
    auto exact = ExactState(part.get());
    if (!exact.ok()) return exact.status();
    const SearchState initial = *std::move(exact);
    SearchState best = initial;
    Explorer explorer(part.get(), &budget_, options_.alpha);
    if (absl::Status s = explorer.Descend(&best, false); !s.ok()) return s;
    if (absl::Status s = explorer.Explore({initial, best}, &best); !s.ok()) return s;
    const std::vector<MatchedEditPtr> matched_edits = MatchedEditsOf(best.path);
    if (matched_edits.empty()) return absl::OkStatus();
    for (const Part* member : members) {
      work_.GoTo(best_.path);
      if (!Repeat(matched_edits, *member, part.get())) continue;
      if (absl::Status s = TakeIfBetter(); !s.ok()) return s;
    }
    if (!objective.IsTime()) searched_.push_back({members, matched_edits, std::move(part)});
    return absl::OkStatus();
  }

  // Changes all parts together: a peak that several parts share falls only if all of them change.
  absl::Status ChangeAllParts() {
    if (searched_.empty()) return absl::OkStatus();
    work_.GoTo(best_.path);
    std::set<const PreparedRule*> used;
    for (const SearchedPart& searched : searched_) {
      for (const MatchedEditPtr& matched : searched.matched_edits) used.insert(matched->rule);
      for (const Part* member : searched.members) {
        Repeat(searched.matched_edits, *member, searched.part.get());
      }
    }
    searched_.clear();
    if (absl::Status s = TakeIfBetter(); !s.ok()) return s;
    for (int m = work_.matches().size() - 1; m >= 0; --m) {
      if (!work_.matches().IsAlive(m)) continue;
      const MatchedEditPtr matched = work_.matches().matched(m);
      if (used.count(matched->rule) > 0) work_.Commit(matched);
    }
    return TakeIfBetter();
  }

  // Repeats on the whole graph the edits made to a part equal to `member`. Returns false, without
  // any change, if they cannot all be applied.
  bool Repeat(const std::vector<MatchedEditPtr>& matched_edits, const Part& member,
              Workspace* part) {
    const RewritePathPtr before = work_.path();
    part->GoTo(nullptr);
    PartMap map(member);
    for (const MatchedEditPtr& matched : matched_edits) {
      const MatchedEditPtr there = map.Translate(part->graph(), work_.graph(), *matched);
      std::vector<int> made, made_there;
      if (there == nullptr || !work_.Commit(there, &made_there) || !part->Commit(matched, &made)) {
        work_.GoTo(before);
        return false;
      }
      map.Extend(made, made_there);
    }
    return true;
  }

  // Takes the current whole graph if it is better than the best.
  absl::Status TakeIfBetter() {
    auto state = ExactState(&work_);
    if (!state.ok()) return state.status();
    if (HasFront()) front_.Offer(state->rank, [&] { return work_.path(); });
    auto better = IsBetter(*state, best_, &costs_);
    if (!better.ok()) return better.status();
    if (*better) best_ = *std::move(state);
    return absl::OkStatus();
  }

  const Graph& graph_;
  const std::vector<RuleIndexPtr> stages_;  // the last one has all rules
  RuleIndexPtr rules_;                      // those of the current stage
  CostModel& costs_;
  const BacktrackingOptions options_;
  const Cost initial_cost_;
  const Search::OnProgress& progress_;
  KnownPlans plans_;
  Workspace work_;
  SearchBudget budget_;
  struct SearchedPart {
    std::vector<const Part*> members;
    std::vector<MatchedEditPtr> matched_edits;  // found in the first member
    std::unique_ptr<Workspace> part;
  };
  std::vector<SearchedPart> searched_;
  ParetoFront front_;
  SearchState initial_, certain_, descended_, best_;
};

class Backtracking : public Search {
 public:
  Backtracking(const RewriteSource* source, CostModel* costs, const BacktrackingOptions& options)
      : source_(*source), costs_(*costs), options_(options) {}

  absl::StatusOr<SearchResult> Run(const Graph& graph, const OnProgress& progress) override {
    auto initial_cost = costs_.CostOf(graph);
    if (!initial_cost.ok()) return initial_cost.status();
    return BacktrackingRun(graph, source_.Rules(), &costs_, options_, *initial_cost, progress).Do();
  }

 private:
  const RewriteSource& source_;
  CostModel& costs_;
  const BacktrackingOptions options_;
};

}  // namespace

const char* Name(StopReason reason) {
  switch (reason) {
    case StopReason::kExhausted:
      return "exhausted";
    case StopReason::kSteps:
      return "steps";
    case StopReason::kSeconds:
      return "seconds";
    case StopReason::kCancelled:
      return "cancelled";
  }
  return "";
}

std::unique_ptr<Search> MakeBacktrackingSearch(const RewriteSource* source, CostModel* costs,
                                               const BacktrackingOptions& options) {
  return std::make_unique<Backtracking>(source, costs, options);
}

}  // namespace lemma::optimizer
