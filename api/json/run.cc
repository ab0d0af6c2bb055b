#include "api/json/run.h"

#include "api/execution/profile.h"
#include "api/execution/timing.h"

namespace lemma::api {

Json ToJson(const Model& model, const RunOptions& options, const RunResult& result) {
  Json json = Json::Object();
  json.Set("graph", model.graph.name()).Set("backend", options.execution.backend);
  json.Set("threads", options.execution.threads).Set("operators", model.graph.num_ops());
  json.Set("median_ms", Median(result.ms)).Set("ms", Json::Array(result.ms));
  json.Set("peak_bytes", result.memory.planned_bytes);
  json.Set("weight_bytes", result.memory.weight_bytes);
  if (result.difference) {
    json.Set("equal", result.difference->ok).Set("difference", result.difference->largest);
    json.Set("allowed", result.difference->allowed);
  }
  if (options.profile) {
    const ProfileTotals totals = TotalsOf(result.profile, result.roofline);
    json.Set("roof_flops_per_second", result.roofline.flops_per_second);
    json.Set("roof_bytes_per_second", result.roofline.bytes_per_second);
    json.Set("flops", totals.work.flops).Set("roof", totals.roof).Set("mfu", totals.mfu);
    json.Set("kernels", ProfileJson(result.profile, result.roofline));
  }
  return json;
}

Json ToJson(const Session& session, const std::vector<SizesTiming>& timings) {
  Json rows = Json::Array();
  for (const SizesTiming& timing : timings) {
    Json sizes = Json::Object();
    for (const auto& [name, size] : timing.sizes) sizes.Set(name, size);
    Json row = Json::Object();
    row.Set("sizes", std::move(sizes)).Set("first_ms", timing.first_ms);
    row.Set("median_ms", Median(timing.ms)).Set("ms", Json::Array(timing.ms));
    row.Set("again_ms", timing.again_ms).Set("peak_bytes", timing.memory.planned_bytes);
    rows.Add(std::move(row));
  }
  Json json = Json::Object();
  json.Set("graph", session.model().graph.name()).Set("threads", session.threads());
  json.Set("operators", session.model().graph.num_ops()).Set("at", std::move(rows));
  return json;
}

}  // namespace lemma::api
