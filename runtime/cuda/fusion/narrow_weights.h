// Keeps weights packed in the device's memory if they are known integers of 4 or 8 bits times known
// scales, and are multiplied by a few rows only, as in a step of a decoder. The time of such a
// product is the time to read its weights, so its kernel reads packed weights and unpacks them.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_NARROW_WEIGHTS_H_
#define LEMMA_RUNTIME_CUDA_FUSION_NARROW_WEIGHTS_H_

#include <vector>

#include "graph/graph.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::cuda {

// Returns `graph` with the weights of such products computed from bytes. Each byte holds two
// integers of 4 bits or one integer of 8 bits. A weight is an integer less a zero point, times the
// scale of its block. Every weight stays the same, bit for bit.
//
// This applies to matrix products of at most 8 rows with a weight [depth, columns] of f32, f16 or
// bf16 and at least 65,536 elements. The weight must be integers of magnitude at most 255 times
// scales, perhaps with its elements moved, and the values of integers and scales must be known. In
// each column, blocks of 32, 64, 128 or 256 adjacent weights must have one scale; the depth must be
// a multiple of the size of a block. The integers of a block must differ by less than 256. Other
// weights stay as they are.
Graph StoreNarrowWeights(const Graph& graph, NodeTraitsCache& traits);

// By node: whether the node unpacks a weight that has the form of StoreNarrowWeights. Fusion puts
// such a node into the kernel of the product, although the node's value is known before the run.
std::vector<bool> FindUnpacking(const UseTable& uses, NodeTraitsCache& traits);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_NARROW_WEIGHTS_H_
