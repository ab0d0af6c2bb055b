// Spells cascaded reductions at random, as people and exporters write them: attention in many
// forms, a normalization before a product, and the cross entropy of many classes.
#ifndef LEMMA_TESTS_RUNTIME_BLOCKS_CASCADE_SPELLINGS_H_
#define LEMMA_TESTS_RUNTIME_BLOCKS_CASCADE_SPELLINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

enum class Cascade {
  kAttention,
  kAttentionGradient,  // forward pass and gradient in one graph
  kCausal,
  kWindowed,
  kBiased,          // ALiBi, relative positions, a bias that is an input
  kSoftCapped,      // c tanh(s / c)
  kGroupedQueries,  // several heads of queries share keys and values
  kCross,           // queries and keys differ in number
  kDropout,
  kNormalized,    // RMSNorm or LayerNorm, followed by a product
  kCrossEntropy,  // the loss and its gradient
};
inline constexpr int kNumCascades = static_cast<int>(Cascade::kCrossEntropy) + 1;
const char* Name(Cascade form);

struct Spelling {
  std::string text;
  // What the gradient is taken of: the names of inputs; empty: the graph is only the forward pass.
  std::vector<std::string> parameters;
  int64_t whole_bytes = 0;    // of the scores, the logits or the normalized value
  bool divides_sums = false;  // blocks may divide sums, so results may be rounded differently
};

// The seed chooses the spelling: the order of operators, layouts of the heads, where the scale is,
// how a mask is applied, how a softmax is written. `gradient`: with a gradient, if the form has one
// (kAttentionGradient and kCrossEntropy always have).
Spelling Spell(Cascade form, uint64_t seed, bool gradient = false);

// The graph of a spelling: the text, with the gradients of sum(y^2), or of the loss.
Graph GraphOf(const Spelling& spelling);

enum class Numbers {
  kOrdinary,
  kLarge,      // queries of 10^4, so scores are up to 10^4
  kMasked,     // rows that are masked from end to end
  kNotFinite,  // infinities and NaN among the inputs
};
// Values for the inputs of the spelling's graph; the names of inputs say what they are for.
std::vector<Tensor> InputsOf(const Graph& graph, Numbers numbers, uint64_t seed);

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_BLOCKS_CASCADE_SPELLINGS_H_
