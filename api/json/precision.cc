#include "api/json/precision.h"

#include <utility>

namespace lemma::api {

Json ToJson(const PrecisionResult& result) {
  Json rows = Json::Array();
  for (const PrecisionRow& row : result.rows) {
    Json errors = Json::Array();
    for (const PrecisionError& error : row.errors) {
      Json entry = Json::Object();
      entry.Set("output", error.output).Set("largest", error.largest);
      entry.Set("relative", error.relative).Set("allowed", error.allowed);
      errors.Add(std::move(entry));
    }
    Json json = Json::Object();
    json.Set("precision", codegen::Name(row.precision))
        .Set("unit", codegen::UnitRoundoff(row.precision))
        .Set("products", row.products)
        .Set("terms", row.terms)
        .Set("bound", row.bound)
        .Set("rounded", row.rounded)
        .Set("left", row.left)
        .Set("largest", row.largest)
        .Set("relative", row.relative)
        .Set("tolerance_used", row.tolerance_used)
        .Set("errors", std::move(errors));
    rows.Add(std::move(json));
  }
  Json json = Json::Object();
  json.Set("rows", std::move(rows))
      .Set("not_finite", result.not_finite)
      .Set("reference_seconds", result.reference_seconds);
  return json;
}

}  // namespace lemma::api
