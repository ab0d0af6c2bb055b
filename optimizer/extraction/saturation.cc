#include "optimizer/extraction/saturation.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/hash.h"
#include "optimizer/cost/node_price.h"
#include "optimizer/extraction/extraction.h"
#include "optimizer/extraction/realize.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/explorer.h"
#include "optimizer/search/workspace.h"

namespace lemma::optimizer {
namespace {

// Limit on matches of one rule per round, so that all rules get a turn.
constexpr int kMatchesPerRule = 2000;
// Limit on rounds of exact pricing of the extracted nodes; the others are estimated.
constexpr int kPricingRounds = 8;

class SaturationRun {
 public:
  SaturationRun(const Graph& graph, std::vector<const PreparedRule*> rules, CostModel* costs,
                int max_nodes, Workspace* work, SearchBudget* budget)
      : rules_(std::move(rules)),
        costs_(*costs),
        max_nodes_(max_nodes),
        work_(*work),
        budget_(*budget),
        egraph_(graph, IsFoldable) {}

  // Improves *best. nullopt if it was stopped before the end.
  absl::StatusOr<std::optional<SearchBound>> Do(SearchState* best) {
    AddWay(MatchedEditsOf(best->path));
    const bool is_saturated = Saturate();
    if (WasCancelled()) return std::optional<SearchBound>();
    auto extraction = GoToCheapest(best);
    // No graph in it can run, so none is better than *best.
    if (absl::IsFailedPrecondition(extraction.status())) return std::optional<SearchBound>();
    if (!extraction.ok()) return extraction.status();
    // A graph that was left out could be cheaper, and the descent may have found it.
    const int64_t bound = std::min(extraction->bound, best->rank.ns);
    return SearchBound{Cost::Nanoseconds(static_cast<double>(bound)), work_.HasSum(),
                       is_saturated && extraction->num_left_out == 0};
  }

 private:
  bool WasCancelled() const {
    return budget_.stop() == StopReason::kCancelled || budget_.stop() == StopReason::kSeconds;
  }
  bool IsFull() const { return egraph_.num_live() >= max_nodes_; }

  // Adds to the e-graph the graphs on the path of these rewrites from the first graph.
  void AddWay(const std::vector<MatchedEditPtr>& matched_edits) {
    std::vector<int> number(egraph_.num_originals());
    std::iota(number.begin(), number.end(), 0);
    auto there = [&](ValueRef v) { return v.node < 0 ? v : ValueRef{number[v.node], v.output}; };
    work_.GoTo(nullptr);
    for (const MatchedEditPtr& matched : matched_edits) {
      MatchedEdit translated = *matched;
      for (int& node : translated.match.nodes) node = number[node];
      for (ValueRef& v : translated.match.vars) v = there(v);
      for (EditNode& node : translated.edit.nodes) {
        for (ValueRef& v : node.operands) v = there(v);
      }
      for (auto& [from, to] : translated.edit.replaced) {
        from = there(from);
        to = there(to);
      }
      std::vector<int> made, added;
      if (!work_.Commit(matched, &made)) break;
      egraph_.Apply(std::make_shared<const MatchedEdit>(std::move(translated)), &added);
      number.resize(std::max<size_t>(number.size(), work_.graph().num_nodes()));
      for (size_t i = 0; i < made.size(); ++i) number[made[i]] = added[i];
    }
    egraph_.Rebuild();
  }

  // Returns whether every match was applied. Late rules get the room that the others leave.
  bool Saturate() {
    while (!IsFull() && !WasCancelled()) {
      bool is_complete = true;
      std::vector<MatchedEditPtr> matched_edits = NewMatches(&is_complete);
      if (matched_edits.empty() && is_complete) {
        if (takes_late_rules_) return true;
        takes_late_rules_ = true;
        continue;
      }
      size_t i = 0;
      for (; i < matched_edits.size() && !IsFull() && !WasCancelled(); ++i) {
        egraph_.Apply(std::move(matched_edits[i]));
        budget_.Tick(static_cast<int64_t>(matched_edits.size() - i));
        budget_.Stopped(/*ignore_steps=*/true);
      }
      egraph_.Rebuild();
      if (i < matched_edits.size())
        return false;  // even if there is room again: some matches were not applied
    }
    return false;
  }

  std::vector<MatchedEditPtr> NewMatches(bool* is_complete) {
    const std::vector<const PreparedRule*>& rules = rules_.rules();
    std::vector<std::vector<int>> anchors(rules.size());
    std::vector<RuleIndex::Start> starts;
    for (int n = 0; n < egraph_.num_nodes(); ++n) {
      if (!egraph_.IsLive(n) || !egraph_.Head(n).is_op()) continue;
      rules_.AnchorsAt(egraph_, n, &starts);
      for (const RuleIndex::Start& start : starts) {
        if (takes_late_rules_ || !rules[start.rule]->is_late) anchors[start.rule].push_back(n);
      }
    }
    std::vector<MatchedEditPtr> matched_edits;
    for (size_t r = 0; r < rules.size(); ++r) {
      const PreparedRule& rule = *rules[r];
      const int number = rule.rule().source.outputs[0].node;
      int left = kMatchesPerRule;
      auto found = [&](const Binding& match) {
        if (!seen_.insert(KeyOf(r, match)).second) return true;
        MatchedEditPtr matched = MatchedEditOf(rule, egraph_, match);
        if (matched == nullptr) return true;
        matched_edits.push_back(std::move(matched));
        return --left > 0;
      };
      for (int node : anchors[r]) {
        if (left > 0) rule.matcher.ForEachAt(egraph_, number, node, found);
      }
      if (left == 0) *is_complete = false;
    }
    return matched_edits;
  }

  static uint64_t KeyOf(size_t rule, const Binding& match) {
    uint64_t key = Mix64(rule);
    for (int node : match.nodes) key = HashCombine(key, static_cast<uint64_t>(node));
    for (const ValueRef& v : match.vars) {
      key =
          HashCombine(key, (static_cast<uint64_t>(v.node) << 8) + static_cast<uint64_t>(v.output));
    }
    return key;
  }

  // If operators have no price of their own, unknown prices are estimated; selected nodes are
  // priced exactly until all of them are known.
  absl::StatusOr<Extraction> GoToCheapest(SearchState* best) {
    NodePrices prices(&egraph_, &costs_);
    std::vector<bool> exact(egraph_.num_nodes());
    for (const RewritePathPtr& path : {RewritePathPtr(), best->path}) {
      if (absl::Status s = LookAt(path, &prices, &exact); !s.ok()) return s;
    }
    for (int round = 1;; ++round) {
      auto price = prices.All(exact);
      if (!price.ok()) return price.status();
      auto extraction = Extract(egraph_, *price);
      if (!extraction.ok()) return extraction;
      auto reached = GoTo(extraction->best);
      if (!reached.ok()) return reached.status();
      auto better = IsBetter(*reached, *best, &costs_);
      if (!better.ok()) return better.status();
      if (*better) *best = *reached;
      if (work_.HasSum() || round == kPricingRounds || WasCancelled()) return extraction;
      const std::vector<bool> before = exact;
      if (absl::Status s = LookAt(reached->path, &prices, &exact); !s.ok()) return s;
      for (const ValueRef& v : extraction->best.provider) {
        if (v.node >= 0) exact[v.node] = true;
      }
      if (exact == before) return extraction;
    }
  }

  absl::Status LookAt(const RewritePathPtr& path, NodePrices* prices, std::vector<bool>* exact) {
    if (work_.HasSum()) return absl::OkStatus();
    work_.GoTo(path);
    const Graph graph = work_.graph().ToGraph();
    for (int node : egraph_.NodesOf(graph)) {
      if (node >= 0) (*exact)[node] = true;
    }
    return prices->LookAt(graph);
  }

  absl::StatusOr<SearchState> GoTo(const Selection& selection) {
    work_.GoTo(nullptr);
    Realize(egraph_, selection, &work_);
    auto state = ExactState(&work_);
    if (!state.ok()) return state.status();
    absl::Status status = Explorer(&work_, &budget_, 1).Descend(&*state, /*ignore_steps=*/true);
    if (!status.ok()) return status;
    return state;
  }

  const RuleIndex rules_;
  bool takes_late_rules_ = false;
  CostModel& costs_;
  const int max_nodes_;
  Workspace& work_;
  SearchBudget& budget_;
  EGraph egraph_;
  absl::flat_hash_set<uint64_t> seen_;  // matches
};

// Backtracking or its first descent, then saturation from its initial graph and its result.
class Saturation : public Search {
 public:
  Saturation(const RewriteSource* source, CostModel* costs, const SaturationOptions& options)
      : source_(*source), costs_(*costs), options_(options) {}

  absl::StatusOr<SearchResult> Run(const Graph& graph, const OnProgress& progress) override {
    std::optional<SearchBound> bound;
    BacktrackingOptions options = options_.first;
    options.finish = [&](Workspace* work, SearchBudget* budget, SearchState* best) {
      SaturationRun run(graph, source_.Rules(), &costs_, options_.max_nodes, work, budget);
      auto found = run.Do(best);
      if (found.ok()) bound = *found;
      return found.status();
    };
    auto result = MakeBacktrackingSearch(&source_, &costs_, options)->Run(graph, progress);
    if (result.ok()) result->bound = bound;
    return result;
  }

 private:
  const RewriteSource& source_;
  CostModel& costs_;
  const SaturationOptions options_;
};

}  // namespace

std::unique_ptr<Search> MakeSaturationSearch(const RewriteSource* source, CostModel* costs,
                                             const SaturationOptions& options) {
  return std::make_unique<Saturation>(source, costs, options);
}

}  // namespace lemma::optimizer
