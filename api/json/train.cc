#include "api/json/train.h"

#include "api/execution/timing.h"

namespace lemma::api {

Json ToJson(const Model& model, const TrainingStep& step, const std::string& path) {
  Json json = Json::Object();
  json.Set("step", path).Set("state", StatePathOf(path));
  json.Set("operators_before", model.graph.num_ops()).Set("operators", step.graph.num_ops());
  json.Set("variables", static_cast<int64_t>(step.state.size()));
  json.Set("state_bytes", StateBytes(step)).Set("products", step.products);
  Json untrained = Json::Array();
  for (const auto& one : step.untrained) untrained.Add(Json(one.name));
  json.Set("untrained", std::move(untrained));
  return json;
}

Json ToJson(const Model& step, const ExecutionOptions& execution, const TrainingRun& run,
            const TrainingLog& log) {
  const MemoryUse memory = run.memory();
  Json outputs = Json::Object();
  for (size_t i = 0; i < log.names().size(); ++i) {
    outputs.Set(log.names()[i], Json::Array(log.values()[i]));
  }
  Json json = Json::Object();
  json.Set("graph", step.graph.name()).Set("backend", execution.backend);
  json.Set("threads", execution.threads).Set("operators", step.graph.num_ops());
  json.Set("steps_done", run.steps_done()).Set("outputs", std::move(outputs));
  json.Set("ms", Json::Array(log.ms()));
  json.Set("median_ms", log.ms().empty() ? Json() : Json(Median(log.ms())));
  json.Set("state_bytes", run.state_bytes()).Set("peak_bytes", memory.planned_bytes);
  json.Set("weight_bytes", memory.weight_bytes);
  return json;
}

}  // namespace lemma::api
