#include "api/json/inspect.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/version.h"
#include "graph/onnx/import.h"

namespace lemma::api {
namespace {

Json Ports(const std::vector<std::string>& names, const std::vector<Value>& values) {
  Json ports = Json::Array();
  for (size_t i = 0; i < names.size(); ++i) {
    Json port = Json::Object();
    port.Set("name", names[i]).Set("type", values[i].type().ToString());
    ports.Add(std::move(port));
  }
  return ports;
}

}  // namespace

Json ToJson(const Model& model) {
  const Graph& graph = model.graph;
  Json ops = Json::Object();
  for (const auto& [name, row] : OperatorsOf(graph)) {
    Json op = Json::Object();
    op.Set("count", row.count).Set("flops", row.flops).Set("bytes", row.bytes);
    ops.Set(name, std::move(op));
  }
  Json json = Json::Object();
  json.Set("graph", graph.name()).Set("format", Name(model.format));
  json.Set("inputs", Ports(graph.input_names(), graph.inputs()));
  json.Set("outputs", Ports(graph.output_names(), graph.outputs()));
  json.Set("operators", graph.num_ops()).Set("weight_bytes", WeightBytes(graph));
  json.Set("hash", absl::StrCat(absl::Hex(graph.StructuralHash(), absl::kZeroPad16)));
  json.Set("by_operator", std::move(ops));
  if (model.format != ModelFormat::kOnnx) return json;
  Json opsets = Json::Object(), dims = Json::Object(), unknown = Json::Object();
  for (const auto& [domain, version] : model.info.opsets) {
    opsets.Set(domain.empty() ? "ai.onnx" : domain, version);
  }
  for (const SymbolicDim& dim : SymbolicDimsOf(model)) dims.Set(dim.name, dim.size);
  for (const auto& [name, count] : UnknownOperators(graph)) unknown.Set(name, count);
  json.Set("operator_sets", std::move(opsets)).Set("dimensions", std::move(dims));
  json.Set("unknown_operators", std::move(unknown));
  return json;
}

Json ToJson(const Model& model, const ExecutionOptions& execution, const PlanSummary& plan) {
  Json json = Json::Object();
  json.Set("graph", model.graph.name()).Set("backend", execution.backend);
  json.Set("kernels", plan.kernels).Set("peak_bytes", plan.memory.planned_bytes);
  json.Set("live_bytes", plan.memory.live_bytes);
  json.Set("weight_bytes", plan.memory.weight_bytes);
  return json;
}

Json ToJson(const Model& model, const MemoryOverRun& memory) {
  Json live = Json::Array();
  for (const auto& kernel : memory.kernels) live.Add(int64_t{kernel.live_bytes});
  Json json = Json::Object();
  json.Set("graph", model.graph.name()).Set("peak_bytes", memory.arena_bytes);
  json.Set("peak_kernel", memory.peak).Set("live_bytes", std::move(live));
  return json;
}

Json ToJson(const std::vector<ExaminedPart>& parts) {
  Json findings = Json::Array();
  for (const ExaminedPart& part : parts) {
    Json finding = Json::Object();
    finding.Set("what", part.what).Set("state", Name(part.state));
    finding.Set("detail", part.detail).Set("use", part.use);
    findings.Add(std::move(finding));
  }
  Json json = Json::Object();
  json.Set("version", kVersion).Set("findings", std::move(findings));
  return json;
}

Json ToJson(const std::string& name, const OperatorCheck& check) {
  Json json = Json::Object();
  json.Set("name", name);
  json.Set("differentiable", check.differentiable);
  json.Set("applications", check.applications);
  json.Set("gradients", check.gradients);
  json.Set("execution_error", check.execution_error);
  json.Set("gradient_error", check.gradient_error);
  json.Set("problems", Json::Texts(check.problems));
  return json;
}

}  // namespace lemma::api
