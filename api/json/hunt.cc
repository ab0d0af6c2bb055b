#include "api/json/hunt.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/hunting/record.h"

namespace lemma::api {
namespace {

Json Counts(const std::map<std::string, Tally>& tallies) {
  Json object = Json::Object();
  for (const auto& [reason, tally] : tallies) {
    Json entry = Json::Object();
    entry.Set("count", tally.count).Set("first_case", tally.first_case);
    object.Set(reason, std::move(entry));
  }
  return object;
}

Json Findings(const std::vector<Finding>& findings, const std::string& engine) {
  Json list = Json::Array();
  for (const Finding& finding : findings) list.Add(ToJson(finding, engine));
  return list;
}

}  // namespace

Json ToJson(const HuntResult& result) {
  Json json = Json::Object();
  json.Set("engine", result.engine).Set("cases", result.cases).Set("models", result.models);
  json.Set("agree", result.agree).Set("rounding", result.rounding);
  json.Set("undecided", result.undecided).Set("open", Counts(result.open));
  json.Set("refused", Counts(result.refused)).Set("not_compared", Counts(result.not_compared));
  json.Set("findings", Findings(result.findings, result.engine));
  json.Set("not_finite", Findings(result.not_finite, result.engine));
  Json own = Json::Array();
  for (const std::string& text : result.own_faults) own.Add(text);
  json.Set("own_faults", std::move(own)).Set("was_interrupted", result.was_interrupted);
  return json.Set("seconds", result.seconds);
}

}  // namespace lemma::api
