// Compares two graphs node by node.
#ifndef LEMMA_VERIFIER_CERTIFICATE_SAME_GRAPH_H_
#define LEMMA_VERIFIER_CERTIFICATE_SAME_GRAPH_H_

#include <string>

#include "graph/graph.h"

namespace lemma::certificate {

// "" if the graphs are the same: they have the same inputs and outputs, by
// name, order and type; and they compute the outputs by the same operators with
// the same attributes, from weights and constants with the same bytes.
// Otherwise describes the first difference. Ignores the names of weights with
// values, and whether a value is a weight or a constant; weights without values
// must have the same names.
std::string Difference(const Graph& a, const Graph& b);

// Whether both attributes have the same kind and the same bits. Unlike ==, distinguishes 0.0 from
// -0.0, and finds NaN equal to itself.
bool SameBits(const AttrValue& a, const AttrValue& b);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_SAME_GRAPH_H_
