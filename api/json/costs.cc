#include "api/json/costs.h"

#include <utility>

namespace lemma::api {

Json ToJson(const std::string& file, const std::vector<DeviceCosts>& devices) {
  Json list = Json::Array();
  for (const DeviceCosts& device : devices) {
    Json one = Json::Object();
    one.Set("device", device.device).Set("kernels", device.kernels);
    one.Set("flops_per_second", device.flops_per_second);
    one.Set("bytes_per_second", device.bytes_per_second);
    one.Set("overhead_ns", device.overhead_ns);
    list.Add(std::move(one));
  }
  Json json = Json::Object();
  json.Set("file", file).Set("devices", std::move(list));
  return json;
}

Json ToJson(const std::string& file, const ImportedCosts& done) {
  Json json = Json::Object();
  json.Set("file", file).Set("imported", done.imported).Set("kept", done.kept);
  return json;
}

Json ToJson(const std::string& file, const MeasuredKernels& done) {
  Json json = Json::Object();
  json.Set("file", file).Set("device", done.device).Set("measured", done.measured);
  json.Set("known", done.known).Set("failed", done.failed).Set("left", done.left);
  return json;
}

Json ToJson(const Calibration& report) {
  Json kernels = Json::Array();
  for (const auto& [timing, kind, predicted_ms] : report.kernels) {
    Json kernel = Json::Object();
    kernel.Set("signature", timing.signature).Set("value", timing.label);
    kernel.Set("predicted_ms", predicted_ms).Set("ms", timing.ms);
    kernels.Add(std::move(kernel));
  }
  Json json = Json::Object();
  json.Set("predicted_ms", report.predicted_ms).Set("ms", report.run_ms);
  json.Set("measuring_seconds", report.measuring_seconds).Set("learned", report.learned);
  json.Set("kernels", std::move(kernels));
  return json;
}

}  // namespace lemma::api
