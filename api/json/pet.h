// Writes partially equivalent mutants (docs/pet.md) as JSON.
#ifndef LEMMA_API_JSON_PET_H_
#define LEMMA_API_JSON_PET_H_

#include <vector>

#include "api/pet.h"
#include "base/json.h"

namespace lemma::api {

Json ToJson(const MutatedPart& part);
Json ToJson(const std::vector<MutatedPart>& parts);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_PET_H_
