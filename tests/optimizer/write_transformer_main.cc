// Prints a generated transformer: write_transformer LAYERS > model.lemma
#include <cstdio>
#include <cstdlib>

#include "tests/optimizer/transformer_text.h"

int main(int argc, char** argv) {
  lemma::optimizer::TransformerSizes sizes;
  if (argc != 2 || (sizes.layers = std::atoi(argv[1])) < 1) {
    std::fprintf(stderr, "usage: write_transformer LAYERS\n");
    return 2;
  }
  std::fputs(lemma::optimizer::TransformerText(sizes).c_str(), stdout);
  return 0;
}
