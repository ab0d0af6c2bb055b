// The current graph of a search, its matches, and moves from it to other graphs.
#ifndef LEMMA_OPTIMIZER_SEARCH_WORKSPACE_H_
#define LEMMA_OPTIMIZER_SEARCH_WORKSPACE_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "optimizer/cost/cost_model.h"
#include "optimizer/cost/objective.h"
#include "rewrite/matching/edit_graph.h"
#include "rewrite/matching/match_set.h"

namespace lemma::optimizer {

// The edits that led to a state, newest first. Paths share beginnings. nullptr: the first state.
struct RewritePath {
  MatchedEditPtr matched;
  std::shared_ptr<const RewritePath> before;
  int length = 1;
};
using RewritePathPtr = std::shared_ptr<const RewritePath>;
inline int LengthOf(const RewritePathPtr& path) { return path == nullptr ? 0 : path->length; }
std::vector<MatchedEditPtr> MatchedEditsOf(const RewritePathPtr& path);  // oldest first

// The plans of small graphs, by Part::key. Workspaces of one search share them.
class KnownPlans {
 public:
  struct Plan {
    std::optional<KernelList> kernels;  // if the cost model lists kernels and the graph can run
    std::optional<int64_t> ns;          // set when it is first asked for
  };
  // The plan of these operators of `graph`, as a graph of their own; it lives as long as this
  // object.
  absl::StatusOr<Plan*> Of(const EditGraph& graph, const std::vector<int>& nodes, CostModel* costs);

 private:
  absl::flat_hash_map<std::vector<uint64_t>, std::unique_ptr<Plan>> plans_;
};

// A graph, its matches, and the path that led to it. A step costs time in proportion to what it
// changes. If the cost model is a sum over operators, ranks are exact. If it is not, and only time
// counts, a rewrite's effect is estimated by planning only the operators around it, before and
// after, as a graph of its own; but a model that lists no kernels prices graphs of up to 600
// operators as a whole. Peak memory is never a sum: if the objective asks for it, each graph is
// priced as a whole, however large.
class Workspace {
 public:
  // `costs` and `plans` must outlive it.
  Workspace(const Graph& graph, RuleIndexPtr rules, CostModel* costs, KnownPlans* plans,
            const Objective& objective = {});
  Workspace(absl::Span<const EditNode> nodes, absl::Span<const ValueRef> outputs,
            RuleIndexPtr rules, CostModel* costs, KnownPlans* plans,
            const Objective& objective = {});

  const EditGraph& graph() const { return graph_; }
  const MatchSet& matches() const { return *matches_; }
  const RewritePathPtr& path() const { return path_; }
  const Objective& objective() const { return objective_; }
  CostModel* costs() const { return costs_; }
  // Ranks computed before are invalid afterwards. Only an objective that asked for memory from the
  // beginning may be followed by one that asks for memory.
  void SetObjective(const Objective& objective) { objective_ = objective; }

  // Goes to the first state and replaces the rules. States that the old rules led to can still be
  // reached.
  void SetRules(RuleIndexPtr rules);

  // The exact rank of the current graph.
  absl::StatusOr<Rank> Price();
  // Whether only time counts and the cost model is a sum over operators.
  bool HasSum() const { return is_sum_; }
  // Whether Try estimates ranks.
  bool IsEstimating() const { return is_estimating_; }

  // The kernels of the current graph; nullptr if the cost model lists none, or it cannot run.
  absl::StatusOr<std::shared_ptr<const KernelList>> Kernels();

  struct Outcome {
    uint64_t hash = 0;
    Rank rank;
    bool is_better = false;   // than the current graph, by Compare where kernels are known
    bool is_certain = false;  // better, as shown without times
  };
  enum class Ask {
    kIsCertain,  // whether it is certainly better; rank.ns is that of the current graph
    kIsBetter,   // whether it is better; if this is shown without times, rank.ns is that of the
                 // current graph
    kRank,       // the rank; is_better and is_certain mean nothing
  };
  // The outcome of applying `matched`, one of the matches of the current graph, whose rank is
  // `now`. The graph stays as it is. nullopt if the edit changes nothing or cannot be applied here.
  absl::StatusOr<std::optional<Outcome>> Try(const MatchedEdit& matched, Rank now, Ask ask);
  // Applies `matched`. False, without any change, if it cannot be applied. *made: see EditGraph.
  bool Commit(const MatchedEditPtr& matched, std::vector<int>* made = nullptr);
  // Moves to another state by undoing and applying edits.
  void GoTo(const RewritePathPtr& path);

  // Number of nodes changed and tried: a measure of the time spent that is the same in every run.
  int64_t work() const { return graph_.work() + matches_->work(); }

 private:
  struct Place {  // before a step
    RewritePathPtr path;
    size_t graph_mark = 0, matches_mark = 0;
  };
  void Apply(const MatchedEdit& matched, std::vector<int>* made);
  std::vector<int> Around(const MatchedEdit& matched) const;
  absl::StatusOr<int64_t> PriceOf(KnownPlans::Plan* plan);
  absl::StatusOr<Outcome> After(const MatchedEdit& matched, Rank now, Ask ask);
  absl::StatusOr<Outcome> Judge(KnownPlans::Plan* before, KnownPlans::Plan* after, int operators,
                                Rank now, Ask ask);

  CostModel* const costs_;
  KnownPlans* const plans_;
  Objective objective_;
  const bool is_sum_;
  EditGraph graph_;
  const bool is_estimating_;
  std::unique_ptr<MatchSet> matches_;
  RewritePathPtr path_;
  std::vector<Place> places_;
};

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_WORKSPACE_H_
