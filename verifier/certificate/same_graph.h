// Whether two graphs are the same, node by node.
#ifndef LEMMA_VERIFIER_CERTIFICATE_SAME_GRAPH_H_
#define LEMMA_VERIFIER_CERTIFICATE_SAME_GRAPH_H_

#include <string>

#include "graph/graph.h"

namespace lemma::certificate {

// "" if both have the same inputs and outputs, by name, order and type, and compute the latter by
// the same operators with the same attributes, from weights and constants with the same bytes. The
// names of weights with values do not count, nor whether a value is called weight or constant.
// Otherwise the first difference that is found.
std::string Difference(const Graph& a, const Graph& b);

// Equal in kind and in every bit; unlike ==, which takes 0.0 for -0.0 and NaN for nothing.
bool SameBits(const AttrValue& a, const AttrValue& b);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_SAME_GRAPH_H_
