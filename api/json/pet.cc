#include "api/json/pet.h"

#include <utility>

namespace lemma::api {

Json ToJson(const MutatedPart& part) {
  Json mutants = Json::Array();
  for (const pet::Candidate& c : part.candidates->found) {
    Json boxes = Json::Array();
    for (const pet::Box& box : c.region.differs) boxes.Add(ToString(box));
    Json mutant = Json::Object();
    mutant.Set("how", c.mutant.how()).Set("differs", c.region.positions);
    mutant.Set("positions", NumElements(c.region.shape)).Set("boxes", std::move(boxes));
    mutant.Set("cells", c.region.cells).Set("tested", c.region.tested);
    mutant.Set("corrector", c.corrector).Set("ns", c.cost).Set("gain", PredictedGain(part, c));
    mutants.Add(std::move(mutant));
  }
  Json json = Json::Object();
  json.Set("operators", part.part.graph.num_ops());
  json.Set("output", part.part.graph.outputs()[0].type().ToString());
  json.Set("occurrences", part.part.occurrences).Set("ns", part.candidates->original_cost);
  json.Set("mutants", part.candidates->mutants).Set("looked_at", part.candidates->looked_at);
  json.Set("kept", std::move(mutants));
  return json;
}

Json ToJson(const std::vector<MutatedPart>& parts) {
  Json json = Json::Array();
  for (const MutatedPart& part : parts) json.Add(ToJson(part));
  return json;
}

}  // namespace lemma::api
