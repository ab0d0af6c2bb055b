#include "optimizer/backtracking.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>
#include <vector>

#include "optimizer/explorer.h"
#include "optimizer/partition.h"
#include "optimizer/rewrite_steps.h"
#include "optimizer/workspace.h"

namespace lemma {
namespace {

// One run.
class BacktrackingRun {
 public:
  BacktrackingRun(const Graph& graph, std::vector<const PreparedRule*> rules, CostModel* costs,
                  const BacktrackingOptions& options, const Cost& initial_cost,
                  const Search::OnProgress& progress)
      : graph_(graph),
        rules_(rules),
        costs_(*costs),
        options_(options),
        initial_cost_(initial_cost),
        progress_(progress),
        work_(graph, std::move(rules), costs),
        budget_(options.limits, [this](int64_t queued) { return Report(queued); }),
        explorer_(&work_, &budget_, options.alpha) {}

  absl::StatusOr<SearchResult> Do() {
    const std::clock_t start = std::clock();
    auto rank = work_.Price();
    if (!rank.ok()) return rank.status();
    const SearchState initial{nullptr, work_.graph().hash(), *rank};
    best_ = initial;
    if (absl::Status s = explorer_.Descend(&best_, /*free=*/true); !s.ok()) return s;
    const SearchState descended = best_;
    if (absl::Status s = SearchParts(); !s.ok()) return s;
    // Estimates would add up in a queue.
    if (!work_.IsEstimating()) {
      absl::Status s = explorer_.Explore({initial, descended, best_}, &best_);
      if (!s.ok()) return s;
    }

    SearchResult result;
    result.initial_cost = initial_cost_;
    result.stop = budget_.stop().value_or(StopReason::kExhausted);
    result.steps = budget_.steps();
    result.search_seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    work_.GoTo(descended.trail);
    result.descended = work_.graph().ToGraph();
    work_.GoTo(best_.trail);
    result.best = work_.graph().ToGraph();
    auto best_cost = costs_.CostOf(result.best);
    if (!best_cost.ok()) return best_cost.status();
    result.best_cost = *best_cost;
    const std::vector<SitePtr> way = SitesOf(best_.trail), first = SitesOf(descended.trail);
    result.rewrites = StepsOf(graph_, way);
    if (absl::Status s = PriceSteps(best_.trail, &result.rewrites); !s.ok()) return s;
    const bool is_on_the_way =
        first.size() <= way.size() && std::equal(first.begin(), first.end(), way.begin());
    if (is_on_the_way) {
      result.descended_rewrites = result.rewrites;
      result.descended_rewrites.resize(first.size());
    } else {
      result.descended_rewrites = StepsOf(graph_, first);
      absl::Status s = PriceSteps(descended.trail, &result.descended_rewrites);
      if (!s.ok()) return s;
    }
    return result;
  }

 private:
  bool Report(int64_t queued) {
    if (!progress_) return true;
    SearchProgress now;
    now.steps = budget_.steps();
    now.queued = queued;
    now.initial = initial_cost_;
    now.best = Cost::Nanoseconds(static_cast<double>(best_.rank.ns));
    now.num_rewrites = LengthOf(best_.trail);
    return progress_(now);
  }

  // `steps` are those of `trail`.
  absl::Status PriceSteps(const TrailPtr& trail, std::vector<RewriteStep>* steps) {
    if (!options_.price_steps) return absl::OkStatus();
    TrailPtr at = trail;
    for (auto step = steps->rbegin(); step != steps->rend(); ++step, at = at->before) {
      work_.GoTo(at);
      auto rank = work_.Price();
      if (!rank.ok()) return rank.status();
      step->cost = Cost::Nanoseconds(static_cast<double>(rank->ns));
    }
    return absl::OkStatus();
  }

  // Explores the parts of what is the best so far, alike ones once, with half of the budget, and
  // takes what that finds into the whole.
  absl::Status SearchParts() {
    work_.GoTo(best_.trail);
    const std::vector<Part> parts = Partition(work_.graph());
    if (parts.size() < 2) return absl::OkStatus();
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
    const int64_t half = budget_.steps() + (budget_.max_steps() - budget_.steps()) / 2;
    for (const auto& members : alike) {
      if (budget_.Stopped()) break;
      const int64_t left = std::max<int64_t>(0, half - budget_.steps());
      budget_.ShareUntil(budget_.steps() + left * members[0]->num_ops / ops);
      ops -= members[0]->num_ops;
      absl::Status s = SearchPart(members);
      budget_.ShareUntil(std::nullopt);
      if (!s.ok()) return s;
    }
    // What is at the borders, and what the parts made possible.
    return explorer_.Descend(&best_, /*free=*/true);
  }

  absl::Status SearchPart(const std::vector<const Part*>& members) {
    Workspace part(members[0]->nodes, members[0]->outputs, rules_, &costs_);
    auto rank = part.Price();
    if (!rank.ok()) return rank.status();
    const SearchState initial{nullptr, part.graph().hash(), *rank};
    SearchState best = initial;
    Explorer explorer(&part, &budget_, options_.alpha);
    if (absl::Status s = explorer.Descend(&best, false); !s.ok()) return s;
    if (absl::Status s = explorer.Explore({initial, best}, &best); !s.ok()) return s;
    const std::vector<SitePtr> sites = SitesOf(best.trail);
    if (sites.empty()) return absl::OkStatus();
    for (const Part* member : members) {
      if (absl::Status s = Transfer(sites, *member, &part); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  // Repeats what was done to a part of `part`'s kind in the whole; undone if it does not pay there.
  absl::Status Transfer(const std::vector<SitePtr>& sites, const Part& member, Workspace* part) {
    work_.GoTo(best_.trail);
    part->GoTo(nullptr);
    PartMap map(member);
    for (const SitePtr& site : sites) {
      const SitePtr there = map.Translate(part->graph(), work_.graph(), *site);
      std::vector<int> made, made_there;
      if (there == nullptr || !work_.Commit(there, &made_there)) return absl::OkStatus();
      if (!part->Commit(site, &made)) return absl::OkStatus();
      map.Extend(made, made_there);
    }
    auto rank = work_.Price();
    if (!rank.ok()) return rank.status();
    if (*rank < best_.rank) best_ = {work_.trail(), work_.graph().hash(), *rank};
    return absl::OkStatus();
  }

  const Graph& graph_;
  const std::vector<const PreparedRule*> rules_;
  CostModel& costs_;
  const BacktrackingOptions options_;
  const Cost initial_cost_;
  const Search::OnProgress& progress_;
  Workspace work_;
  SearchBudget budget_;
  Explorer explorer_;
  SearchState best_;
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

}  // namespace lemma
