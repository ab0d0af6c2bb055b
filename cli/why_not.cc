#include "cli/why_not.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/text_table.h"
#include "rewrite/apply.h"

namespace lemma::cli {
namespace {

constexpr int kMostPriced = 200;
constexpr size_t kMostPlaces = 4;  // that are printed of a group

// The least change of time by one of the matches; nullopt if `budget` is used up, or if none can
// be applied or priced.
absl::StatusOr<std::optional<double>> LeastChange(const Substitution& rule, const MatchIndex& index,
                                                  const std::vector<Match>& matches,
                                                  const Cost& before, CostModel* costs,
                                                  int* budget) {
  std::optional<double> least;
  for (const Match& match : matches) {
    if (--*budget < 0) break;
    auto graph = Apply(rule, match, index);
    if (!graph.ok()) continue;
    auto after = costs->CostOf(*graph);
    if (!after.ok()) return after.status();
    if (after->is_infinite()) continue;
    const double change = after->ms() - before.ms();
    if (!least || change < *least) least = change;
  }
  return least;
}

std::string PlaceName(const MatchIndex& index, int position) {
  return NameInSteps(index.graph().LabelOf(Value(index.node(position), 0)), position, 0);
}

std::string AppliesText(const std::optional<double>& change) {
  if (!change) return "it applies; not priced";
  return *change < 0   ? "it applies, and the graph gets faster"
         : *change > 0 ? "it applies, but the graph gets slower"
                       : "it applies, but the graph is as fast as before";
}

void AddTo(WhyNotGraph* graph, const WhyNot& answer, const std::string& place,
           const std::optional<double>& change) {
  const std::string reason =
      answer.missing == Missing::kNothing ? AppliesText(change) : answer.reason;
  auto group = std::find_if(graph->groups.begin(), graph->groups.end(), [&](const WhyNotGroup& g) {
    return g.missing == answer.missing && g.reason == reason;
  });
  if (group == graph->groups.end()) {
    graph->groups.push_back({answer.missing, reason, answer.held, answer.alone, {}, {}, {}});
    group = std::prev(graph->groups.end());
  }
  group->held = std::max(group->held, answer.held);
  group->alone = group->alone || answer.alone;
  group->places.push_back(place);
  if (!change) return;
  group->least_ms = std::min(group->least_ms.value_or(*change), *change);
  group->most_ms = std::max(group->most_ms.value_or(*change), *change);
}

// "-1.2 us", "+3.0 ms".
std::string Signed(double ms) { return absl::StrCat(ms < 0 ? "-" : "+", FormatMs(std::abs(ms))); }

std::string GroupText(const WhyNotGroup& group) {
  std::string text = absl::StrFormat("%5d x %s", group.places.size(), group.reason);
  if (group.alone && group.missing < Missing::kTangled) {
    absl::StrAppend(&text, "; all else fits");
  }
  if (group.least_ms && *group.most_ms != 0) {
    const std::string least = Signed(*group.least_ms), most = Signed(*group.most_ms);
    absl::StrAppend(&text, ": ", least, least == most ? "" : absl::StrCat(" to ", most));
  }
  const size_t shown = std::min(group.places.size(), kMostPlaces);
  const std::vector<std::string> some(group.places.begin(), group.places.begin() + shown);
  return absl::StrCat(text, "\n          ", absl::StrJoin(some, ", "),
                      shown < group.places.size() ? ", …\n" : "\n");
}

std::string GraphText(const std::string& what, const std::string& anchor,
                      const WhyNotGraph& graph) {
  std::string text = absl::StrCat(what, ": ", graph.anchors, " x ", anchor, "\n");
  for (const WhyNotGroup& group : graph.groups) text += GroupText(group);
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
    if (group.least_ms) {
      json.Set("change_ms_least", *group.least_ms).Set("change_ms_most", *group.most_ms);
    }
    groups.Add(std::move(json));
  }
  Json json = Json::Object();
  json.Set("anchors", graph.anchors).Set("groups", std::move(groups));
  return json;
}

}  // namespace

absl::StatusOr<WhyNotGraph> ExplainIn(const PreparedRule& rule, const Graph& graph,
                                      CostModel* costs) {
  const MatchIndex index(graph);
  WhyNotExplainer explainer(rule);
  WhyNotGraph result;
  std::optional<Cost> before;
  int budget = kMostPriced;
  for (int anchor : index.ApplicationsOf(rule.matcher.anchor_op())) {
    if (index.IsStatic(anchor)) continue;
    ++result.anchors;
    const WhyNot answer = explainer.Explain(index, anchor);
    std::optional<double> change;
    if (!answer.matches.empty()) {
      if (!before) {
        auto cost = costs->CostOf(graph);
        if (!cost.ok()) return cost.status();
        before = *cost;
      }
      auto least = LeastChange(rule.rule(), index, answer.matches, *before, costs, &budget);
      if (!least.ok()) return least.status();
      change = *least;
    }
    std::string place = PlaceName(index, anchor);
    if (answer.at >= 0 && answer.at != anchor) {
      absl::StrAppend(&place, " (at ", PlaceName(index, answer.at), ")");
    }
    AddTo(&result, answer, place, change);
  }
  // What is nearest to a match, then what is frequent.
  std::stable_sort(
      result.groups.begin(), result.groups.end(), [](const WhyNotGroup& a, const WhyNotGroup& b) {
        if (a.missing != b.missing && std::max(a.missing, b.missing) >= Missing::kTangled) {
          return a.missing > b.missing;
        }
        if (a.alone != b.alone) return a.alone;
        if (a.held != b.held) return a.held > b.held;
        return a.places.size() > b.places.size();
      });
  return result;
}

std::string WhyNotText(const WhyNotReport& report) {
  std::string text = absl::StrCat("rule ", report.rule, " (", report.source, "): ");
  if (!report.excluded.empty()) {
    absl::StrAppend(&text, "the search did not use it: ", report.excluded, "\n");
  } else {
    absl::StrAppend(
        &text, report.applied == 0 ? "not applied" : absl::StrCat("applied ", report.applied, " x"),
        "\n");
  }
  return absl::StrCat(text, GraphText("input", report.anchor, report.input),
                      GraphText("result", report.anchor, report.result));
}

Json WhyNotJson(const WhyNotReport& report) {
  Json json = Json::Object();
  json.Set("rule", report.rule).Set("source", report.source).Set("anchor", report.anchor);
  json.Set("excluded", report.excluded).Set("applied", report.applied);
  json.Set("input", GraphJson(report.input)).Set("result", GraphJson(report.result));
  return json;
}

}  // namespace lemma::cli
