// Writes partially equivalent mutants (docs/pet.md) as JSON.
#ifndef LEMMA_API_JSON_PET_H_
#define LEMMA_API_JSON_PET_H_

#include <vector>

#include "api/pet.h"
#include "base/json.h"

namespace lemma::api {

// An object with facts about the part: operators (their number), output (its type), occurrences and
// ns (the part's cost); mutants and looked_at (numbers of mutants, as in pet::Candidates); and
// kept, a list of the corrected mutants. Each corrected mutant has how (text), differs (the number
// of positions where it differs), boxes (a list of texts: these positions), positions (the number
// of positions in the whole output), cells and tested (numbers, as in pet::Region), corrector, ns
// (its cost) and gain (PredictedGain).
Json ToJson(const MutatedPart& part);
// A list with the object of each part.
Json ToJson(const std::vector<MutatedPart>& parts);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_PET_H_
