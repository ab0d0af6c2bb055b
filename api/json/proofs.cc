#include "api/json/proofs.h"

#include <utility>

namespace lemma::api {

void AddVerdict(const Verdict& verdict, Json* json) {
  json->Set("verdict", Word(verdict));
  if (auto* proved = std::get_if<Proved>(&verdict)) {
    json->Set("contract", Name(proved->contract)).Set("coverage", proved->coverage);
    json->Set("id", proved->id).Set("queries", proved->queries).Set("work", proved->work);
  } else if (auto* refuted = std::get_if<Refuted>(&verdict)) {
    Json values = Json::Object(), index = Json::Array();
    for (const auto& [name, value] : refuted->values) values.Set(name, value);
    json->Set("values", std::move(values)).Set("seed", static_cast<int64_t>(refuted->seed));
    json->Set("output", refuted->output).Set("reason", refuted->ToString());
    if (refuted->shapes_differ()) {
      Json source = Json::Array(), target = Json::Array();
      for (int64_t size : refuted->source_shape) source.Add(size);
      for (int64_t size : refuted->target_shape) target.Add(size);
      json->Set("source_shape", std::move(source)).Set("target_shape", std::move(target));
      return;
    }
    for (int64_t i : refuted->index) index.Add(i);
    json->Set("index", std::move(index));
    json->Set("source", refuted->source).Set("target", refuted->target);
    if (refuted->inputs.empty()) return;
    Json inputs = Json::Array();
    for (const std::vector<double>& input : refuted->inputs) {
      Json elements = Json::Array();
      for (const double x : input) elements.Add(x);
      inputs.Add(std::move(elements));
    }
    json->Set("inputs", std::move(inputs));
  } else {
    json->Set("reason", std::get<Unknown>(verdict).reason);
  }
}

void AddOutcome(const ProofOutcome& outcome, Json* json) {
  AddVerdict(outcome.verdict, json);
  json->Set("ok", outcome.ok()).Set("seconds", outcome.seconds);
  if (outcome.recheck) {
    Json disagreed = Json::Array();
    for (const auto& [query, answer] : outcome.recheck->disagreed) {
      Json item = Json::Object();
      item.Set("answer", answer);
      item.Set("about", query.about).Set("smt2", query.smt2);
      disagreed.Add(std::move(item));
    }
    Json result = Json::Object();
    result.Set("agreed", outcome.recheck->agreed).Set("unknown", outcome.recheck->unknown);
    result.Set("disagreed", std::move(disagreed));
    json->Set("recheck", std::move(result));
  }
  if (outcome.checked) {
    Json result = Json::Object();
    result.Set("equal", outcome.checked->equal).Set("undecided", outcome.checked->undecided);
    result.Set("differs", outcome.checked->answer == checker::Checked::Answer::kDiffers);
    result.Set("coverage", outcome.checked->coverage).Set("detail", outcome.checked->detail);
    if (outcome.replayed) {
      result.Set("steps_accepted", outcome.replayed->accepted)
          .Set("steps", outcome.replayed->steps);
      result.Set("step_checks", outcome.replayed->checks).Set("problem", outcome.replayed->problem);
    }
    json->Set("checker", std::move(result));
  }
}

Json ToJson(const std::string& a, const std::string& b, const ProveResult& result) {
  Json json = Json::Object();
  json.Set("a", a).Set("b", b).Set("symbolic", result.symbolic);
  AddOutcome(result.outcome, &json);
  return json;
}

Json ToJson(const VerifyResult& result) {
  Json list = Json::Array();
  for (const VerifiedRule& rule : result.rules) {
    Json item = Json::Object();
    item.Set("rule", rule.rule.name).Set("promised", Name(rule.rule.contract));
    AddOutcome(rule.outcome, &item);
    item.Set("record", rule.record_problem.empty() ? "current" : rule.record_problem);
    list.Add(std::move(item));
  }
  const VerifyCounts counts = result.counts();
  Json json = Json::Object();
  json.Set("file", result.file).Set("rules", std::move(list));
  json.Set("proved", counts.proved).Set("refuted", counts.refuted);
  json.Set("unknown", counts.unknown).Set("failed", counts.failed);
  json.Set("queries", counts.queries).Set("seconds", result.seconds);
  if (!result.solver.empty()) json.Set("solver", result.solver);
  return json;
}

Json ToJson(const ReplayResult& result) {
  Json list = Json::Array();
  for (const ReplayedRule& rule : result.rules) {
    Json item = Json::Object();
    item.Set("rule", rule.rule.name).Set("accepted", rule.problem.empty());
    item.Set("instances", rule.checked.equal).Set("steps", rule.replayed.steps);
    item.Set("checks", rule.replayed.checks).Set("undecided", rule.replayed.undecided);
    item.Set("problem", rule.problem);
    list.Add(std::move(item));
  }
  Json json = Json::Object();
  json.Set("file", result.file).Set("rules", std::move(list));
  json.Set("accepted", result.accepted());
  return json;
}

}  // namespace lemma::api
