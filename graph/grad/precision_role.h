// How the definition of an operator lets it use 16-bit floats in mixed precision.
#ifndef LEMMA_GRAPH_GRAD_PRECISION_ROLE_H_
#define LEMMA_GRAPH_GRAD_PRECISION_ROLE_H_

#include <vector>

#include "graph/graph.h"

namespace lemma {

struct PrecisionRole {
  enum class Kind {
    // All operands are floats, and the only output is a sum of products of elements of different
    // operands, possibly plus elements of further operands: matrix products and convolutions.
    kProduct,
    // Moves, selects, compares or converts elements, or computes with them by cheap functions
    // (scalar_fn::kCheap). There is no sum or product over an axis.
    kFollows,
    kWide,  // all others, such as softmax, sums, exp, and operators without a definition
  };
  Kind kind = Kind::kWide;
  // By operand, only for kFollows: whether one element is read for all values of some index of the
  // output, as in a broadcast, so that the operand's gradient is a sum. (The gradients of
  // overlapping windows and of elements that are read at several places are sums too, but stay in
  // 16 bits.)
  std::vector<bool> repeats;
};

// The role of `node`, which must be an operator.
PrecisionRole PrecisionRoleOf(const Node& node);

// Whether the operator only converts its operand from one float type to another.
bool IsConversion(const Node& node);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_PRECISION_ROLE_H_
