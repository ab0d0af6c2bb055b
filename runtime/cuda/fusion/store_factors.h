// Inserts casts so that factors of products are stored in 8 bits if they are 8-bit integers, or in
// the 16-bit type that the products round them to.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_STORE_FACTORS_H_
#define LEMMA_RUNTIME_CUDA_FUSION_STORE_FACTORS_H_

#include "graph/graph.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cuda {

// `graph` with these casts inserted, to be passed to PlanGraph with the same options. Known
// integers that are factors are stored in 8 bits (byte_factors.h), and weights of few bits stay
// packed for products of few rows (narrow_weights.h). Nothing else changes unless the precision is
// kF16 or kBf16 and the architecture is sm_90. Then f32 factors get a cast to the 16-bit type and
// back where this lets products run on warpgroup instructions (wgmma) and is predicted to gain more
// than it costs. Weights are rounded once; other values are rounded by the kernels that make them,
// or by one more kernel. The products multiply the same rounded factors as without casts; only the
// order of their sums differs. If a factor comes from a transpose, a reshape or a slice, a cast in
// front of that operator is tried too. Splits are replaced by slices, which can be fused into the
// kernels that read them.
Graph StoreFactors(const Graph& graph, NodeTraitsCache& traits,
                   const codegen::GridOptions& options);

// Whether `node` is a cast from 16 bits to f32.
bool IsWidening(const Node& node);
// Whether `node` is a cast from f32 to 16 bits.
bool IsNarrowing(const Node& node);
// Whether `node` rounds each element of its operand to TF32.
bool RoundsToTf32(const Node& node);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_STORE_FACTORS_H_
