// Small models for which PET finds mutants (docs/pet.md), for `lemma pet --example=`.
#ifndef LEMMA_API_PET_EXAMPLES_H_
#define LEMMA_API_PET_EXAMPLES_H_

#include <string>
#include <vector>

namespace lemma::api {

struct PetExample {
  const char* name;  // the flag's value
  const char* text;  // a graph in the text form
};
const std::vector<PetExample>& PetExamples();

}  // namespace lemma::api

#endif  // LEMMA_API_PET_EXAMPLES_H_
