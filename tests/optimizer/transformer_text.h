// Generated models of any length, for tests and measurements of searches.
#ifndef LEMMA_TESTS_OPTIMIZER_TRANSFORMER_TEXT_H_
#define LEMMA_TESTS_OPTIMIZER_TRANSFORMER_TEXT_H_

#include <string>

namespace lemma::optimizer {

struct TransformerSizes {
  int layers = 2;
  int sequence = 16, heads = 2, head_size = 8;
  int widening = 4;  // of the feed-forward part
};

// The text form (graph/text/text.h) of an encoder as exporters write it: separate projections of
// query, key and value, layer norms and GELU in single operators, weights transposed. Weights have
// no values. 55 operators and 16 weights a layer.
std::string TransformerText(const TransformerSizes& sizes);

}  // namespace lemma::optimizer

#endif  // LEMMA_TESTS_OPTIMIZER_TRANSFORMER_TEXT_H_
