#include "api/json/optimize.h"

#include <utility>
#include <vector>

#include "api/optimization/search_figures.h"

namespace lemma::api {
namespace {

Json GraphJson(const WhyNotGraph& graph) {
  Json groups = Json::Array();
  for (const WhyNotGroup& group : graph.groups) {
    Json places = Json::Array();
    for (const std::string& place : group.places) places.Add(place);
    Json json = Json::Object();
    json.Set("missing", Name(group.missing)).Set("reason", group.reason);
    json.Set("all_else_fits", group.only_obstacle).Set("places", std::move(places));
    if (const auto& c = group.change; c) {
      json.Set("change_ms_least", c->least_ms).Set("change_ms_most", c->most_ms);
      json.Set("change_bytes_least", c->least_bytes).Set("change_bytes_most", c->most_bytes);
    }
    groups.Add(std::move(json));
  }
  Json json = Json::Object();
  json.Set("anchors", graph.anchors).Set("groups", std::move(groups));
  if (graph.not_looked_at > 0) json.Set("not_looked_at", graph.not_looked_at);
  return json;
}

Json ToJson(const WhyNotReport& report, const std::string& excluded) {
  Json json = Json::Object();
  json.Set("rule", report.rule).Set("source", SourceText(report)).Set("anchor", report.anchor);
  json.Set("excluded", excluded).Set("applied", report.applied);
  json.Set("input", GraphJson(report.input)).Set("result", GraphJson(report.result));
  return json;
}

Json RulesJson(const std::vector<optimizer::RewriteStep>& steps) {
  Json rules = Json::Object();
  for (const auto& [name, count] : RuleCounts(steps)) rules.Set(name, count);
  return rules;
}

Json ToJson(const std::vector<Alternative>& rules) {
  Json list = Json::Array();
  for (const Alternative& rule : rules) {
    Json json = Json::Object();
    json.Set("rule", rule.rule).Set("places", rule.places);
    if (!rule.where.empty()) json.Set("where", rule.where);
    if (rule.change) {
      json.Set("change_ms", rule.change->ns * 1e-6);
      json.Set("change_error_ms", rule.change->error_ns * 1e-6);
      json.Set("cannot_lose", rule.change->is_certain);
    }
    list.Add(std::move(json));
  }
  return list;
}

Json FrontJson(const std::vector<optimizer::FrontPoint>& front) {
  Json list = Json::Array();
  for (const optimizer::FrontPoint& point : front) {
    Json json = Json::Object();
    json.Set("ms", point.cost.ms()).Set("peak_bytes", point.cost.peak_bytes());
    json.Set("operators", point.ops).Set("best", point.is_best);
    list.Add(std::move(json));
  }
  return list;
}

void AddPrediction(const OptimizeOptions& options, const OptimizeResult& result, Json* json) {
  const optimizer::SearchResult& search = result.search;
  if (options.replay.empty()) {
    json->Set("predicted_ms_before", search.initial_cost.ms());
    json->Set("predicted_ms_after", PredictedCost(search, result.accepted.rewrites).ms());
    json->Set("priced_late", result.priced_late);
  }
  if (!options.objective.IsTime()) {
    json->Set("objective", GoalName(options.objective.goal));
    json->Set("memory_limit", options.objective.memory_limit);
    json->Set("predicted_peak_bytes_before", search.initial_cost.peak_bytes());
    json->Set("predicted_peak_bytes_after", search.best_cost.peak_bytes());
  }
  if (!search.front.empty()) json->Set("front", FrontJson(search.front));
}

void AddExecution(const OptimizeOptions& options, const Acceptance& accepted, Json* json) {
  if (!options.costs.device.empty()) json->Set("device", options.costs.device);
  if (accepted.measured && options.Times()) {
    json->Set("ms_before", accepted.ms_before).Set("ms_after", accepted.ms_after);
    json->Set("ratio", accepted.ratio);
  }
  if (accepted.measured && !IsTarget(options.execution.backend)) {
    json->Set("peak_bytes_before", accepted.memory_before.planned_bytes);
    json->Set("peak_bytes_after", accepted.memory_after.planned_bytes);
  }
  if (accepted.measured) {
    json->Set("difference", accepted.difference.largest);
    json->Set("allowed", accepted.difference.allowed);
    json->Set("compared_values", accepted.difference.finite);
    json->Set("output_values", accepted.difference.elements);
    json->Set("excuse", accepted.difference.excuse).Set("rejected", accepted.rejected);
  }
  json->Set("executed", accepted.measured);
  if (!accepted.measured) json->Set("not_executed_because", accepted.why_not_measured);
  if (accepted.found) {
    json->Set("found_ratio", accepted.found->median).Set("found_ratio_low", accepted.found->low);
    json->Set("found_ratio_high", accepted.found->high).Set("runs", accepted.runs);
  }
}

void AddSearch(const OptimizeResult& result, const OptimizeContext& context, Json* json) {
  const optimizer::SearchResult& search = result.search;
  json->Set("learned_kernels", result.calibrated);
  json->Set("graphs", search.steps).Set("search_seconds", result.search_seconds);
  json->Set("best_seconds", result.best_seconds);
  json->Set("search_start_bytes", context.search_start_bytes);
  json->Set("search_peak_bytes", context.search_peak_bytes);
  json->Set("graphs_per_second", GraphsPerSecond(search));
  json->Set("stopped", Name(search.stop));
  if (!search.bound) return;
  json->Set("bound_ms", search.bound->cost.ms())
      .Set("bound_of_all", search.bound->covers_all_graphs);
  json->Set("bound_proved", search.bound->is_proved);
  json->Set("bound_share", ShareOfBound(search));
}

}  // namespace

Json ToJson(const Graph& input, const OptimizeOptions& options, const OptimizeResult& result,
            const OptimizeContext& context) {
  const Acceptance& accepted = result.accepted;
  Json json = Json::Object();
  json.Set("graph", input.name()).Set("output", context.output);
  json.Set("certificate", context.certificate).Set("kept_input", accepted.kept_input());
  if (accepted.kept_input()) json.Set("why_kept", WhyKept(options, result));
  json.Set("recomputed_operators", accepted.recomputed);
  json.Set("offloaded_values", accepted.offloaded);
  json.Set("operators_before", input.num_ops());
  json.Set("operators_after", accepted.graph.num_ops());
  AddPrediction(options, result, &json);
  AddExecution(options, accepted, &json);
  json.Set("rules", RulesJson(AllRewrites(accepted)));
  Json bodies = Json::Array();
  for (const OptimizedBody& body : accepted.bodies) {
    Json entry = Json::Object();
    entry.Set("loop", body.label).Set("rules", RulesJson(body.rewrites));
    entry.Set("operators_before", body.operators_before);
    entry.Set("operators_after", body.operators_after);
    entry.Set("predicted_ms_before", body.ms_before).Set("predicted_ms_after", body.ms_after);
    bodies.Add(std::move(entry));
  }
  if (!accepted.bodies.empty()) json.Set("loop_bodies", std::move(bodies));
  json.Set("search_rules", RulesJson(result.search.rewrites));
  if (options.allow_unproved) {
    Json unproved = Json::Object();
    for (const optimizer::UnprovedRule& rule : result.unproved)
      unproved.Set(rule.name, rule.problem);
    json.Set("unproved_rules_allowed", std::move(unproved));
  }
  AddSearch(result, context, &json);
  if (result.why_not) json.Set("why_not", ToJson(*result.why_not, context.excluded));
  if (result.alternatives) {
    json.Set("applied", ToJson(ChangesByRule(accepted.rewrites)));
    json.Set("alternatives", ToJson(result.alternatives->rules));
    json.Set("alternatives_complete", result.alternatives->is_complete);
  }
  return json;
}

Json WhyNotJson(const Graph& input, const OptimizeResult& result, const std::string& excluded) {
  const optimizer::SearchResult& search = result.search;
  Json json = Json::Object();
  json.Set("graph", input.name());
  json.Set("predicted_ms_before", search.initial_cost.ms());
  json.Set("predicted_ms_after", search.best_cost.ms());
  json.Set("graphs", search.steps).Set("stopped", Name(search.stop));
  json.Set("why_not", ToJson(*result.why_not, excluded));
  return json;
}

}  // namespace lemma::api
