// Small models to look for mutants in.
#ifndef LEMMA_API_PET_EXAMPLES_H_
#define LEMMA_API_PET_EXAMPLES_H_

#include <string>
#include <vector>

namespace lemma::api {

struct PetExample {
  const char* name;
  const char* text;  // a graph
};
const std::vector<PetExample>& PetExamples();

}  // namespace lemma::api

#endif  // LEMMA_API_PET_EXAMPLES_H_
