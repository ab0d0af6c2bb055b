#include "api/json/rules.h"

#include <map>
#include <utility>

#include "api/json/proofs.h"
#include "api/rules/export.h"
#include "graph/text/text.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {
namespace {

Json Counts(const std::map<std::string, int>& counts) {
  Json json = Json::Object();
  for (const auto& [name, count] : counts) json.Set(name, count);
  return json;
}

Json TypingJson(const DerivationAtSizes& typing) {
  Json json = Json::Object();
  json.Set("at", typing.at).Set("graphs", typing.graphs);
  if (!typing.found) return json;
  Json steps = Json::Array();
  for (const DerivationAtSizes::Step& step : typing.steps) {
    Json one = Json::Object();
    one.Set("rule", step.rule).Set("backward", step.backward).Set("graph", PrintGraph(step.graph));
    steps.Add(std::move(one));
  }
  json.Set("source", PrintGraph(typing.source)).Set("steps", std::move(steps));
  return json;
}

Json ExplainedJson(const ExplainedRule& explained) {
  Json json = Json::Object();
  json.Set("rule", explained.rule.name).Set("in_file", explained.is_member);
  if (explained.is_member) json.Set("about", RuleJson(explained.rule, explained.problem));
  if (!explained.left_out.empty()) json.Set("left_out", explained.left_out);
  json.Set("found", explained.found).Set("answer", explained.answer);
  if (!explained.same_as.empty()) json.Set("same_as", explained.same_as);
  if (explained.typings.empty()) return json;
  Json typings = Json::Array();
  for (const DerivationAtSizes& typing : explained.typings) typings.Add(TypingJson(typing));
  json.Set("typings", std::move(typings));
  return json;
}

Json ImportedJson(const ImportedRule& rule) {
  Json json = Json::Object(), without = Json::Object();
  json.Set("rule", rule.rule.name).Set("guard", rule.guard);
  AddOutcome(rule.outcome, &json);
  AddVerdict(rule.without_guard, &without);
  json.Set("without_guard", std::move(without)).Set("note", rule.note);
  json.Set("written", rule.written);
  json.Set("text", PrintRule(rule.rule));
  return json;
}

}  // namespace

Json ToJson(const std::string& file, const std::vector<const Substitution*>& rules) {
  Json list = Json::Array();
  for (const Substitution* rule : rules) list.Add(RuleJson(*rule, ProofProblem(*rule)));
  Json json = Json::Object();
  json.Set("file", file).Set("rules", std::move(list));
  return json;
}

Json ToJson(const std::string& file, const RuleStats& stats) {
  Json sizes = Json::Array(), operators = Json::Object();
  for (const auto& [size, count] : stats.sizes) {
    Json one = Json::Object();
    one.Set("source", size.first).Set("target", size.second).Set("rules", count);
    sizes.Add(std::move(one));
  }
  for (const auto& [name, use] : stats.operators) {
    Json one = Json::Object();
    one.Set("source", use.source).Set("target", use.target);
    operators.Set(name, std::move(one));
  }
  Json json = Json::Object();
  json.Set("file", file).Set("rules", stats.rules).Set("usable", stats.usable);
  json.Set("guarded", stats.guarded).Set("several_outputs", stats.several_outputs);
  json.Set("records", Counts(stats.records)).Set("contracts", Counts(stats.contracts));
  json.Set("kinds", Counts(stats.kinds)).Set("sizes", std::move(sizes));
  json.Set("operators", std::move(operators));
  return json;
}

Json ToJson(const std::string& file, const PrunedFile& pruned) {
  Json json = Json::Object();
  json.Set("file", file).Set("rules", pruned.rules).Set("kept", pruned.kept);
  json.Set("left_out", pruned.left_out);
  return json;
}

Json ToJson(const std::string& file, const ImportedTaso& imported) {
  Json list = Json::Array();
  for (const ImportedRule& rule : imported.rules) list.Add(ImportedJson(rule));
  Json json = Json::Object();
  json.Set("file", file).Set("rules", std::move(list)).Set("seconds", imported.seconds);
  return json;
}

Json ToJson(const Explanations& explanations) {
  Json list = Json::Array();
  for (const ExplainedRule& explained : explanations.rules) list.Add(ExplainedJson(explained));
  Json json = Json::Object();
  json.Set("file", explanations.file.name);
  json.Set("unused", static_cast<int>(explanations.unused.size()));
  json.Set("rules", std::move(list));
  return json;
}

}  // namespace lemma::api
