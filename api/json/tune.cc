#include "api/json/tune.h"

#include <utility>

namespace lemma::api {

Json ToJson(const TuneResult& result) {
  Json kernels = Json::Array();
  for (const cuda::TunedKernel& kernel : result.tuned.kernels) {
    Json json = Json::Object();
    json.Set("size", kernel.size.ToString())
        .Set("operators", kernel.operators)
        .Set("steps", kernel.steps)
        .Set("tried", kernel.tried)
        .Set("tile", kernel.TileName())
        .Set("model_tile", kernel.ModelTileName())
        .Set("microseconds", kernel.tile.microseconds)
        .Set("model_microseconds", kernel.tile.model_microseconds);
    kernels.Add(std::move(json));
  }
  Json json = Json::Object();
  json.Set("device", result.device)
      .Set("file", result.file)
      .Set("known", result.known)
      .Set("left", result.tuned.left)
      .Set("kernels", std::move(kernels));
  return json;
}

}  // namespace lemma::api
