#include "api/json/generate.h"

namespace lemma::api {

std::vector<Figure> FiguresOf(const generator::EnumeratorStats& stats) {
  return {{"graphs", stats.graphs},
          {"terms", stats.terms},
          {"pruned_terms", stats.pruned_terms},
          {"distinct", stats.distinct},
          {"hits", stats.colliding_graphs},
          {"classes", stats.classes},
          {"class_members", stats.members}};
}

std::vector<Figure> FiguresOf(const GenerateResult& result) {
  const generator::GenerateStats& s = result.decided;
  std::vector<Figure> figures = FiguresOf(result.enumerated);
  for (const Figure& figure : {Figure{"pairs", s.pairs},
                               {"candidates", s.candidates},
                               {"derived", s.derived},
                               {"not_tried", s.not_tried},
                               {"no_form", s.unliftable},
                               {"proved", s.proved},
                               {"guarded", s.guarded},
                               {"refuted", s.refuted},
                               {"unknown", s.unknown},
                               {"pruned", s.pruned},
                               {"written", result.written},
                               {"resumed", result.resumed}}) {
    figures.push_back(figure);
  }
  return figures;
}

Json ToJson(const std::vector<Figure>& figures, const ProcessUse& enumeration,
            const ProcessUse& all) {
  Json json = Json::Object();
  for (const Figure& figure : figures) json.Set(figure.name, figure.value);
  json.Set("enumeration_cpu_s", enumeration.seconds);
  json.Set("cpu_s", all.seconds).Set("peak_mb", all.megabytes);
  return json;
}

}  // namespace lemma::api
