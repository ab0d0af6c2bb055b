#include "api/optimization/why_not.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rewrite/matching/apply.h"

namespace lemma::api {
namespace {

// Limits on the graphs that are priced, and on the nodes of all of them.
constexpr int kMostPriced = 200, kMostNodes = 500000;

// The rank of the graph that the best of the matches gives; nullopt if `budget` or the time is used
// up, or if none can be applied or priced.
absl::StatusOr<std::optional<optimizer::Rank>> BestOf(const Substitution& rule,
                                                      const MatchIndex& index,
                                                      const std::vector<Match>& matches,
                                                      const optimizer::Objective& objective,
                                                      optimizer::CostModel* costs,
                                                      const Deadline& deadline, int* budget) {
  std::optional<optimizer::Rank> best;
  for (const Match& match : matches) {
    if (--*budget < 0 || deadline.Passed()) break;
    auto graph = Apply(rule, match, index);
    if (!graph.ok()) continue;
    auto cost = costs->CostOf(*graph);
    if (!cost.ok()) return cost.status();
    if (cost->is_infinite()) continue;
    const optimizer::Rank rank = objective.RankOf(*cost, 0);  // operators are no reason
    if (!best || rank < *best) best = rank;
  }
  return best;
}

std::string PlaceName(const MatchIndex& index, int position) {
  return NameInSteps(index.graph().LabelOf(Value(index.node(position), 0)), position, 0);
}

std::string AppliesText(const optimizer::Objective& objective, const optimizer::Rank& before,
                        const std::optional<optimizer::Rank>& after) {
  if (!after) return "it applies; not priced";
  const bool time = objective.IsTime();
  if (*after < before) {
    return time ? "it applies, and the graph gets faster" : "it applies, and the graph gets better";
  }
  if (before < *after) {
    return time ? "it applies, but the graph gets slower" : "it applies, but the graph gets worse";
  }
  return absl::StrCat("it applies, but the graph is as ", time ? "fast" : "good", " as before");
}

WhyNotGroup& GroupOf(WhyNotGraph* graph, const WhyNot& answer, const std::string& reason) {
  for (WhyNotGroup& group : graph->groups) {
    if (group.missing != answer.missing || group.reason != reason) continue;
    group.most_conditions_held = std::max(group.most_conditions_held, answer.held);
    group.only_obstacle = group.only_obstacle || answer.only_obstacle;
    return group;
  }
  graph->groups.push_back({answer.missing, reason, answer.held, answer.only_obstacle, {}, {}});
  return graph->groups.back();
}

void AddChange(const optimizer::Rank& before, const optimizer::Rank& after,
               std::optional<WhyNotGroup::Change>* change) {
  const double ms = static_cast<double>(after.ns - before.ns) * 1e-6;
  const int64_t bytes = after.peak_bytes - before.peak_bytes;
  if (!change->has_value()) *change = WhyNotGroup::Change{ms, ms, bytes, bytes};
  WhyNotGroup::Change& c = **change;
  c = {std::min(c.least_ms, ms), std::max(c.most_ms, ms), std::min(c.least_bytes, bytes),
       std::max(c.most_bytes, bytes)};
}

// Orders groups: the nearest to a match first, then the most frequent.
std::tuple<int, bool, bool, int, int> Key(const WhyNotGroup& group) {
  const Missing stage = std::max(group.missing, Missing::kGuard);  // matched at all
  return {-static_cast<int>(stage), !group.only_obstacle, !group.change.has_value(),
          -group.most_conditions_held, -static_cast<int>(group.places.size())};
}

}  // namespace

std::string SourceText(const WhyNotReport& report) {
  return report.source.empty() ? "nothing" : absl::StrJoin(report.source, " + ");
}

absl::StatusOr<WhyNotGraph> ExplainIn(const PreparedRule& rule, const Graph& graph,
                                      const optimizer::Objective& objective,
                                      optimizer::CostModel* costs, const Deadline& deadline) {
  const MatchIndex index(graph);
  WhyNotExplainer explainer(rule);
  WhyNotGraph result;
  auto cost = costs->CostOf(graph);
  if (!cost.ok()) return cost.status();
  const Deadline pricing = deadline.Half();  // the rest is for the other places
  optimizer::Objective deciding = objective.Deciding();
  deciding.reference = *cost;
  const optimizer::Rank before = deciding.RankOf(*cost, 0);
  int budget = std::min(kMostPriced, std::max(10, kMostNodes / std::max(1, index.num_nodes())));
  for (int anchor : index.ApplicationsOf(rule.matcher.anchor_op())) {
    if (index.IsStatic(anchor)) continue;
    ++result.anchors;
    if (deadline.Passed()) {
      ++result.not_looked_at;
      continue;
    }
    const WhyNot answer = explainer.Explain(index, anchor);
    auto after = BestOf(rule.rule(), index, answer.matches, deciding, costs, pricing, &budget);
    if (!after.ok()) return after.status();
    WhyNotGroup& group =
        GroupOf(&result, answer,
                answer.matches.empty() ? answer.reason : AppliesText(deciding, before, *after));
    if (after->has_value()) AddChange(before, **after, &group.change);
    group.places.push_back(PlaceName(index, anchor));
    if (answer.at >= 0 && answer.at != anchor) {
      absl::StrAppend(&group.places.back(), " (at ", PlaceName(index, answer.at), ")");
    }
  }
  std::stable_sort(result.groups.begin(), result.groups.end(),
                   [](const WhyNotGroup& a, const WhyNotGroup& b) { return Key(a) < Key(b); });
  return result;
}

}  // namespace lemma::api
