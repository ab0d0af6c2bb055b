// Models for lemma pet --example.
#ifndef LEMMA_CLI_PET_EXAMPLES_H_
#define LEMMA_CLI_PET_EXAMPLES_H_

#include <string>
#include <vector>

namespace lemma::cli {

struct PetExample {
  const char* name;
  const char* text;  // a graph
};
const std::vector<PetExample>& PetExamples();

}  // namespace lemma::cli

#endif  // LEMMA_CLI_PET_EXAMPLES_H_
