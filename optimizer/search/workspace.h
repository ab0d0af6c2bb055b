// The current graph of a search, its matches, and moves from it to other graphs.
#ifndef LEMMA_OPTIMIZER_SEARCH_WORKSPACE_H_
#define LEMMA_OPTIMIZER_SEARCH_WORKSPACE_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/cost/cost_model.h"
#include "optimizer/cost/objective.h"
#include "rewrite/matching/edit_graph.h"
#include "rewrite/matching/match_set.h"

namespace lemma::optimizer {

// The edits that led to a state (a graph that the workspace can restore), newest first. Paths share
// their beginnings. nullptr: the first state, the graph with which the workspace was made.
struct RewritePath {
  MatchedEditPtr matched;
  std::shared_ptr<const RewritePath> before;
  int length = 1;
};
using RewritePathPtr = std::shared_ptr<const RewritePath>;
inline int LengthOf(const RewritePathPtr& path) { return path == nullptr ? 0 : path->length; }
std::vector<MatchedEditPtr> MatchedEditsOf(const RewritePathPtr& path);  // oldest first

// The plans of small graphs, by Part::key (optimizer/search/partition.h). The workspaces of one
// search share this object.
class KnownPlans {
 public:
  struct Plan {
    std::optional<KernelList> kernels;  // if the cost model lists kernels and the graph can run
    // nullopt: the time follows from the prices of `kernels`, which may be measured again.
    std::optional<int64_t> ns;
  };
  // The plan of a graph that consists of the operators `nodes` of `graph`, all of which must depend
  // on an input. The plan lives as long as this object.
  absl::StatusOr<Plan*> Of(const EditGraph& graph, const std::vector<int>& nodes, CostModel* costs);

 private:
  absl::flat_hash_map<std::vector<uint64_t>, std::unique_ptr<Plan>> plans_;
};

// A graph, its matches, and the path that led to it. The time to apply or undo an edit is
// proportional to the size of the edit; the time to find a rank may be longer. Ranks are found in
// one of three ways:
//   * If only time counts and the cost model is a sum over operators, ranks are exact sums.
//   * If only time counts, but the model is not a sum, a rewrite's effect is estimated: the
//     operators around it are planned as a graph of their own, before and after the rewrite. But a
//     model that lists no kernels prices graphs of up to 600 operators as a whole, as below.
//   * If the objective asks for peak memory, which is never a sum, each graph is priced as a whole,
//     however large it is. Ranks are exact.
class Workspace {
 public:
  // `costs` and `plans` must outlive the workspace.
  Workspace(const Graph& graph, RuleIndexPtr rules, CostModel* costs, KnownPlans* plans,
            const Objective& objective = {});
  // The same for the graph of `nodes`, given as in EditGraph.
  Workspace(absl::Span<const EditNode> nodes, absl::Span<const ValueRef> outputs,
            RuleIndexPtr rules, CostModel* costs, KnownPlans* plans,
            const Objective& objective = {});

  const EditGraph& graph() const { return graph_; }
  const MatchSet& matches() const { return *matches_; }
  const RewritePathPtr& path() const { return path_; }
  const Objective& objective() const { return objective_; }
  CostModel* costs() const { return costs_; }
  // Ranks computed before are invalid afterwards. If the constructor's objective is time alone
  // (Objective::IsTime), `objective` must be too.
  void SetObjective(const Objective& objective) { objective_ = objective; }

  // Goes to the first state and replaces the rules. GoTo can still reach the states that the old
  // rules led to.
  void SetRules(RuleIndexPtr rules);

  // The exact rank of the current graph.
  absl::StatusOr<Rank> Price();
  // Whether only time counts and the cost model is a sum over operators, so that ranks are sums.
  bool HasSum() const { return is_sum_; }
  // Whether Try estimates ranks.
  bool IsEstimating() const { return is_estimating_; }

  // The kernels of the current graph; nullptr if the cost model lists no kernels, or the graph
  // cannot run.
  absl::StatusOr<std::shared_ptr<const KernelList>> Kernels();

  struct Outcome {
    uint64_t hash = 0;
    Rank rank;
    // Whether the new graph is better than the current one: by Compare where kernels are known,
    // else by rank.
    bool is_better = false;
    bool is_certain = false;  // whether it is better, and CannotLose shows this without times
  };
  // The question that Try answers about the new graph.
  enum class Ask {
    kIsCertain,  // whether it is certainly better; rank.ns is the time of the current graph. Only
                 // if IsEstimating()
    kIsBetter,   // whether it is better; if this is known without times, rank.ns is the time of the
                 // current graph
    kRank,       // its rank; is_better and is_certain have no meaning
  };
  // The outcome of applying `matched`, one of the matches of the current graph. `now` is the rank
  // of the current graph, which stays as it is. nullopt if the edit changes nothing or cannot be
  // applied.
  absl::StatusOr<std::optional<Outcome>> Try(const MatchedEdit& matched, Rank now, Ask ask);
  // Applies the matches together, the last one first, if the result is certainly better
  // (Ask::kIsCertain), and returns its outcome; otherwise nullopt, and the graph stays as it is.
  // Only if IsEstimating(). Matches that cannot be applied any more are left out.
  absl::StatusOr<std::optional<Outcome>> CommitTogether(const std::vector<MatchedEditPtr>& matches,
                                                        Rank now);
  // Applies `matched`. Returns false, without any change, if it cannot be applied. `made` is as in
  // EditGraph::Apply.
  bool Commit(const MatchedEditPtr& matched, std::vector<int>* made = nullptr);
  // Moves to another state by undoing and applying edits.
  void GoTo(const RewritePathPtr& path);

  // The number of nodes changed and tried so far: a measure of the time spent that is equal in
  // every run.
  int64_t work() const { return graph_.work() + matches_->work(); }

 private:
  struct Place {  // before a step
    RewritePathPtr path;
    size_t graph_mark = 0, matches_mark = 0;
  };
  void Apply(const MatchedEdit& matched, std::vector<int>* made);
  std::vector<int> Around(absl::Span<const MatchedEdit* const> matches) const;
  std::vector<int> Running(std::vector<int> nodes, int first_new) const;
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
