// Small models for which PET finds mutants (docs/pet.md), for `lemma pet --example=`.
#ifndef LEMMA_API_PET_EXAMPLES_H_
#define LEMMA_API_PET_EXAMPLES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace lemma::api {

struct PetExample {
  const char* name;  // the flag's value
  const char* text;  // a graph in the text form
};
const std::vector<PetExample>& PetExamples();
// The graph of the example with this name; NotFound if there is none.
absl::StatusOr<Graph> GraphOfExample(const std::string& name);

}  // namespace lemma::api

#endif  // LEMMA_API_PET_EXAMPLES_H_
