#include "api/json/quantize.h"

#include <optional>
#include <utility>
#include <vector>

namespace lemma::api {
namespace {

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json OperatorsOf(const QuantizeResult& result) {
  Json list = Json::Array();
  for (const OperatorReport& op : result.operators) {
    Json item = Json::Object();
    item.Set("name", op.name).Set("type", op.type).Set("quantized", op.quantized);
    if (!op.quantized) item.Set("reason", op.reason);
    item.Set("reads", Json::Texts(op.reads)).Set("result", op.result);
    item.Set("exact", op.errors.exact).Set("bound", OrNull(op.errors.bound));
    item.Set("bound_for_inputs", OrNull(op.errors.for_inputs));
    item.Set("measured", OrNull(op.errors.measured)).Set("magnitude", op.errors.magnitude);
    item.Set("alone", OrNull(op.alone)).Set("in_all", OrNull(op.in_all));
    item.Set("f32_ms", OrNull(op.f32_ms));
    list.Add(std::move(item));
  }
  return list;
}

Json RangesOf(const QuantizeResult& result) {
  Json list = Json::Array();
  for (const ValueRange& range : result.ranges) {
    Json item = Json::Object(), histogram = Json::Array();
    for (const int64_t count : range.histogram) histogram.Add(count);
    item.Set("name", range.name).Set("type", range.type).Set("least", range.least);
    item.Set("most", range.most).Set("low", range.low).Set("high", range.high);
    item.Set("scale", range.scale).Set("zero_point", range.zero_point);
    item.Set("clipped", range.clipped).Set("histogram", std::move(histogram));
    list.Add(std::move(item));
  }
  return list;
}

Json ErrorsOf(const std::vector<OutputError>& errors) {
  Json list = Json::Array();
  for (const OutputError& error : errors) {
    Json item = Json::Object();
    item.Set("output", error.name).Set("relative", error.relative).Set("snr_db", error.snr_db);
    list.Add(std::move(item.Set("largest", error.largest)));
  }
  return list;
}

}  // namespace

Json ToJson(const std::string& model, const std::string& output, const QuantizeResult& result) {
  Json json = Json::Object(), left = Json::Object(), tried = Json::Array();
  json.Set("model", model).Set("output", output).Set("written", result.written);
  json.Set("operators", OperatorsOf(result)).Set("ranges", RangesOf(result));
  for (const auto& [type, count] : result.left) left.Set(type, count);
  json.Set("left", std::move(left)).Set("synthetic", result.synthetic);
  json.Set("calibration_samples", result.calibration_samples);
  json.Set("held_out_samples", result.held_out_samples);
  json.Set("errors", ErrorsOf(result.errors)).Set("held_out", ErrorsOf(result.held_out));
  json.Set("worst", result.worst);
  for (const TriedModel& one : result.tried) {
    Json item = Json::Object();
    item.Set("operators", one.operators).Set("error", one.error).Set("ms", OrNull(one.ms));
    tried.Add(std::move(item));
  }
  json.Set("tried", std::move(tried)).Set("backend", result.backend);
  json.Set("f32_ms", OrNull(result.f32_ms)).Set("quantized_ms", OrNull(result.quantized_ms));
  json.Set("bytes_before", result.bytes_before).Set("bytes_after", result.bytes_after);
  json.Set("notes", Json::Texts(result.notes));
  return json;
}

Json ToJson(const std::string& model, const std::string& output, const QuantizedIfFaster& outcome) {
  Json json = Json::Object();
  json.Set("output", output);
  json.Set("kept", outcome.kept.empty() ? Json() : Json(outcome.kept));
  json.Set("result", outcome.quantized ? ToJson(model, output, *outcome.quantized) : Json());
  return json;
}

}  // namespace lemma::api
