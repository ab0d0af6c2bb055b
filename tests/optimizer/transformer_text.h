// Generates text models with any number of layers, for tests and measurements of searches.
#ifndef LEMMA_TESTS_OPTIMIZER_TRANSFORMER_TEXT_H_
#define LEMMA_TESTS_OPTIMIZER_TRANSFORMER_TEXT_H_

#include <string>

namespace lemma::optimizer {

struct TransformerSizes {
  int layers = 2;
  int sequence = 16, heads = 2, head_size = 8;
  int widening = 4;  // width inside the feed-forward part, as a multiple of the model's width
};

// The text form (graph/text/text.h) of a transformer encoder, as exporters of models write it.
// Query, key and value have separate projections; layer norms and GELU consist of elementary
// operators. Weights have no values, and the graph transposes the weight matrices. Each layer has
// 55 operators and 16 weights.
std::string TransformerText(const TransformerSizes& sizes);

}  // namespace lemma::optimizer

#endif  // LEMMA_TESTS_OPTIMIZER_TRANSFORMER_TEXT_H_
