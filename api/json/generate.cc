#include "api/json/generate.h"

namespace lemma::api {

Json ToJson(const std::vector<Figure>& figures, const ProcessUse& enumeration,
            const ProcessUse& all) {
  Json json = Json::Object();
  for (const Figure& figure : figures) json.Set(figure.name, figure.value);
  json.Set("enumeration_cpu_s", enumeration.seconds);
  json.Set("cpu_s", all.seconds).Set("peak_mb", all.megabytes);
  return json;
}

}  // namespace lemma::api
