#include "api/json/referee.h"

#include <utility>
#include <vector>

namespace lemma::api {
namespace {

Json Indices(const std::vector<int64_t>& index) {
  Json list = Json::Array();
  for (int64_t i : index) list.Add(i);
  return list;
}

Json RegionsOf(const referee::RefereeResult& verdict) {
  Json list = Json::Array();
  for (const referee::ProvedRegion& region : verdict.regions) {
    Json item = Json::Object();
    item.Set("before", region.before).Set("after", region.after);
    item.Set("contract", Name(region.contract));
    item.Set("before_operators", Json::Texts(region.before_operators));
    item.Set("after_operators", Json::Texts(region.after_operators));
    list.Add(std::move(item));
  }
  return list;
}

Json WeightsOf(const referee::RefereeResult& verdict) {
  Json list = Json::Array();
  for (const referee::FoldedWeight& weight : verdict.weights) {
    Json item = Json::Object();
    item.Set("after", weight.after).Set("before", weight.before).Set("exact", weight.exact);
    item.Set("ulps", weight.ulps).Set("elements", weight.elements);
    list.Add(std::move(item));
  }
  for (const referee::StrangeWeight& weight : verdict.strange_weights) {
    Json item = Json::Object();
    item.Set("after", weight.after).Set("before", weight.before);
    item.Set("outside", weight.outside).Set("index", Indices(weight.index));
    item.Set("value", weight.value).Set("low", weight.low).Set("high", weight.high);
    list.Add(std::move(item));
  }
  return list;
}

Json RefutationOf(const referee::Refutation& refutation) {
  Json json = Json::Object();
  if (!refutation.sizes.empty()) {
    Json sizes = Json::Object();
    for (const auto& [name, size] : refutation.sizes) sizes.Set(name, size);
    json.Set("sizes", std::move(sizes));
  }
  if (!refutation.failure.empty()) return json.Set("failure", refutation.failure);
  json.Set("output", refutation.output).Set("index", Indices(refutation.index));
  json.Set("before", refutation.before).Set("after", refutation.after);
  json.Set("explained", refutation.explained);
  if (refutation.pair) {
    Json pair = Json::Object();
    pair.Set("before", refutation.pair->before_label).Set("after", refutation.pair->after_label);
    pair.Set("difference", refutation.pair->difference);
    pair.Set("explained", refutation.pair->explained);
    json.Set("first", std::move(pair));
  }
  json.Set("only_here", refutation.only_here).Set("by_weights", refutation.by_weights);
  json.Set("places", refutation.places);
  return json;
}

}  // namespace

Json ToJson(const std::string& before, const std::string& after, const RefereeResult& result) {
  const referee::RefereeResult& verdict = result.verdict;
  Json json = Json::Object();
  json.Set("before", before).Set("after", after).Set("verdict", Name(verdict.answer));
  const bool proved = verdict.answer == referee::Answer::kProved;
  if (proved) json.Set("contract", Name(verdict.contract)).Set("coverage", verdict.coverage);
  if (proved) json.Set("accepted", result.accepted);
  if (verdict.answer == referee::Answer::kUnknown) json.Set("reason", verdict.reason);
  if (!verdict.interface.empty()) json.Set("interface", Json::Texts(verdict.interface));
  if (verdict.refutation) json.Set("refutation", RefutationOf(*verdict.refutation));
  json.Set("regions", RegionsOf(verdict)).Set("weights", WeightsOf(verdict));
  Json open = Json::Array();
  for (const referee::OpenRegion& region : verdict.open) {
    Json item = Json::Object();
    item.Set("before", region.before).Set("after", region.after);
    item.Set("operators", region.operators).Set("reason", region.reason);
    open.Add(std::move(item));
  }
  Json outputs = Json::Array();
  for (const referee::OutputComparison& output : verdict.outputs) {
    Json item = Json::Object();
    item.Set("output", output.name).Set("difference", output.difference);
    item.Set("scale", output.scale).Set("explained", output.explained);
    outputs.Add(std::move(item));
  }
  json.Set("open", std::move(open)).Set("outputs", std::move(outputs));
  json.Set("notes", Json::Texts(verdict.notes)).Set("files", Json::Texts(result.files));
  return json.Set("seconds", result.seconds);
}

Json ToJson(const VerdictCheck& answer) {
  const referee::CertificateCheck& check = answer.check;
  Json json = Json::Object();
  json.Set("ok", check.ok()).Set("problem", check.problem);
  if (!check.ok()) return json;
  json.Set("contract", Name(check.contract)).Set("coverage", check.coverage);
  json.Set("regions", check.regions).Set("proofs", check.proofs);
  json.Set("weights", check.weights).Set("computed", check.computed).Set("ulps", check.ulps);
  json.Set("samples", check.samples).Set("elements", check.elements);
  json.Set("notes", Json::Texts(check.notes));
  return json.Set("seed", static_cast<int64_t>(answer.seed));
}

}  // namespace lemma::api
