// Stores factors of products in the 16-bit type that the products round them to.
#ifndef LEMMA_RUNTIME_CUDA_STORE_FACTORS_H_
#define LEMMA_RUNTIME_CUDA_STORE_FACTORS_H_

#include "graph/graph.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cuda {

// `graph` for a plan in the precision of `options`. For kF16 and kBf16, casts to that type and back
// are put in front of factors of f32 where this lets products run by warpgroup (GridOptions) and is
// predicted to gain more than it costs: weights are rounded once, other values by the kernels that
// make them, or by one more kernel. The products compute the same numbers as without. Below a
// layout operator (transpose, reshape, slice), the cast stands in front of it.
Graph StoreFactors(const Graph& graph, NodeTraitsCache& traits,
                   const codegen::GridOptions& options);

// Whether `node` is a cast from 16 bits to f32. Its value is not worth storing.
bool IsWidening(const Node& node);
// Whether `node` is a cast from f32 to 16 bits.
bool IsNarrowing(const Node& node);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_STORE_FACTORS_H_
