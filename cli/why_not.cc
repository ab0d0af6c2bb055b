#include "cli/why_not.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text_table.h"
#include "rewrite/matching/apply.h"

namespace lemma::cli {
namespace {

// Graphs that are priced, and nodes of all of them.
constexpr int kMostPriced = 200, kMostNodes = 500000;
constexpr size_t kMostPlaces = 4;  // that are printed of a group

// What the rule makes of the graph by the best of the matches; nullopt if `budget` is used up, or
// if none can be applied or priced.
absl::StatusOr<std::optional<Rank>> BestOf(const Substitution& rule, const MatchIndex& index,
                                           const std::vector<Match>& matches,
                                           const Objective& objective, CostModel* costs,
                                           int* budget) {
  std::optional<Rank> best;
  for (const Match& match : matches) {
    if (--*budget < 0) break;
    auto graph = Apply(rule, match, index);
    if (!graph.ok()) continue;
    auto cost = costs->CostOf(*graph);
    if (!cost.ok()) return cost.status();
    if (cost->is_infinite()) continue;
    const Rank rank = objective.RankOf(*cost, 0);  // operators are no reason
    if (!best || rank < *best) best = rank;
  }
  return best;
}

std::string PlaceName(const MatchIndex& index, int position) {
  return NameInSteps(index.graph().LabelOf(Value(index.node(position), 0)), position, 0);
}

std::string AppliesText(const Objective& objective, const Rank& before,
                        const std::optional<Rank>& after) {
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
    group.held = std::max(group.held, answer.held);
    group.alone = group.alone || answer.alone;
    return group;
  }
  graph->groups.push_back({answer.missing, reason, answer.held, answer.alone, {}, {}});
  return graph->groups.back();
}

void AddChange(const Rank& before, const Rank& after, std::optional<WhyNotGroup::Change>* change) {
  const double ms = static_cast<double>(after.ns - before.ns) * 1e-6;
  const int64_t bytes = after.peak_bytes - before.peak_bytes;
  if (!change->has_value()) *change = WhyNotGroup::Change{ms, ms, bytes, bytes};
  WhyNotGroup::Change& c = **change;
  c = {std::min(c.least_ms, ms), std::max(c.most_ms, ms), std::min(c.least_bytes, bytes),
       std::max(c.most_bytes, bytes)};
}

// "-1.2 us", "+3.0 ms"; "-1.2 us to +3.0 ms".
std::string Signed(double ms) { return absl::StrCat(ms < 0 ? "-" : "+", FormatMs(std::abs(ms))); }
std::string Signed(int64_t bytes) {
  return absl::StrCat(bytes < 0 ? "-" : "+", FormatBytes(std::abs(static_cast<double>(bytes))));
}
template <typename T>
std::string Range(T least, T most) {
  return Signed(least) == Signed(most) ? Signed(least)
                                       : absl::StrCat(Signed(least), " to ", Signed(most));
}

std::string GroupText(const WhyNotGroup& group, bool memory) {
  std::string text = absl::StrFormat("%5d x %s", group.places.size(), group.reason);
  if (group.alone && group.missing < Missing::kTangled) absl::StrAppend(&text, "; all else fits");
  if (const auto& c = group.change; c && (memory || c->least_ms != 0 || c->most_ms != 0)) {
    absl::StrAppend(&text, ": ", Range(c->least_ms, c->most_ms),
                    memory ? ", " + Range(c->least_bytes, c->most_bytes) : "");
  }
  const size_t shown = std::min(group.places.size(), kMostPlaces);
  const std::vector<std::string> some(group.places.begin(), group.places.begin() + shown);
  return absl::StrCat(text, "\n          ", absl::StrJoin(some, ", "),
                      shown < group.places.size() ? ", …\n" : "\n");
}

// What is nearest to a match, then what is frequent.
std::tuple<int, bool, bool, int, int> Key(const WhyNotGroup& group) {
  const Missing stage = std::max(group.missing, Missing::kGuard);  // matched at all
  return {-static_cast<int>(stage), !group.alone, !group.change.has_value(), -group.held,
          -static_cast<int>(group.places.size())};
}

std::string GraphText(const std::string& what, const std::string& anchor, const WhyNotGraph& graph,
                      bool memory) {
  std::string text = absl::StrCat(what, ": ", graph.anchors, " x ", anchor, "\n");
  for (const WhyNotGroup& group : graph.groups) text += GroupText(group, memory);
  return text;
}

Json GraphJson(const WhyNotGraph& graph) {
  Json groups = Json::Array();
  for (const WhyNotGroup& group : graph.groups) {
    Json places = Json::Array();
    for (const std::string& place : group.places) places.Add(place);
    Json json = Json::Object();
    json.Set("missing", Name(group.missing)).Set("reason", group.reason);
    json.Set("all_else_fits", group.alone).Set("places", std::move(places));
    if (const auto& c = group.change; c) {
      json.Set("change_ms_least", c->least_ms).Set("change_ms_most", c->most_ms);
      json.Set("change_bytes_least", c->least_bytes).Set("change_bytes_most", c->most_bytes);
    }
    groups.Add(std::move(json));
  }
  Json json = Json::Object();
  json.Set("anchors", graph.anchors).Set("groups", std::move(groups));
  return json;
}

}  // namespace

absl::StatusOr<WhyNotGraph> ExplainIn(const PreparedRule& rule, const Graph& graph,
                                      const Objective& objective, CostModel* costs) {
  const MatchIndex index(graph);
  WhyNotExplainer explainer(rule);
  WhyNotGraph result;
  auto cost = costs->CostOf(graph);
  if (!cost.ok()) return cost.status();
  Objective deciding = objective.Deciding();
  deciding.reference = *cost;
  const Rank before = deciding.RankOf(*cost, 0);
  int budget = std::min(kMostPriced, std::max(10, kMostNodes / std::max(1, index.num_nodes())));
  for (int anchor : index.ApplicationsOf(rule.matcher.anchor_op())) {
    if (index.IsStatic(anchor)) continue;
    ++result.anchors;
    const WhyNot answer = explainer.Explain(index, anchor);
    auto after = BestOf(rule.rule(), index, answer.matches, deciding, costs, &budget);
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

std::string WhyNotText(const WhyNotReport& report, bool memory) {
  std::string text = absl::StrCat("rule ", report.rule, " (", report.source, "): ");
  if (!report.excluded.empty()) {
    absl::StrAppend(&text, "the search did not use it: ", report.excluded, "\n");
  } else {
    absl::StrAppend(
        &text, report.applied == 0 ? "not applied" : absl::StrCat("applied ", report.applied, " x"),
        "\n");
  }
  return absl::StrCat(text, GraphText("input", report.anchor, report.input, memory),
                      GraphText("result", report.anchor, report.result, memory));
}

Json WhyNotJson(const WhyNotReport& report) {
  Json json = Json::Object();
  json.Set("rule", report.rule).Set("source", report.source).Set("anchor", report.anchor);
  json.Set("excluded", report.excluded).Set("applied", report.applied);
  json.Set("input", GraphJson(report.input)).Set("result", GraphJson(report.result));
  return json;
}

}  // namespace lemma::cli
