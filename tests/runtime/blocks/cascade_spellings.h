// Writes cascaded reductions (docs/blocks.md) as random choices of operators, as people and
// exporters write them: attention in many forms, a normalization before a product, and the cross
// entropy of many classes.
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
// A name for people, such as "cross-attention".
const char* Name(Cascade form);

struct Spelling {
  std::string text;  // the graph of the forward pass, in the text form (graph/text/text.h)
  // The gradient is with respect to the inputs NAME_N for these NAMEs. Empty: there is no gradient.
  std::vector<std::string> parameters;
  int64_t whole_bytes = 0;    // the size of the scores, the logits or the normalized value
  bool divides_sums = false;  // blocks may divide sums, so results may be rounded differently
};

// A spelling of `form`. The seed chooses the order of operators, the layout of the heads, where the
// scale is applied, how a mask is applied, and how a softmax is written. If `gradient` is true, the
// spelling has a gradient. Spellings of kAttentionGradient and kCrossEntropy always have one.
Spelling Spell(Cascade form, uint64_t seed, bool gradient = false);

// The graph of the spelling's text. If the spelling has a gradient, the outputs
// are y, d0, d1, …. Here y is the result of the text. The others are gradients
// with respect to the inputs that Spelling::parameters names: of y or, if y is
// not a scalar, of sum(y^2) / 2.
Graph GraphOf(const Spelling& spelling);

enum class Numbers {
  kOrdinary,
  kLarge,      // queries, or the input of a normalization or product, are up to 10^4
  kMasked,     // some rows of the scores are masked completely, if the spelling's mask is an input
  kNotFinite,  // infinities and NaN among the inputs
};
// Random values for the inputs of GraphOf's graph. The name of an input decides its values: for
// example, `label_N` gets numbers of classes.
std::vector<Tensor> InputsOf(const Graph& graph, Numbers numbers, uint64_t seed);

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_BLOCKS_CASCADE_SPELLINGS_H_
