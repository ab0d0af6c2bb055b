// Makes graphs that compute, on any back end, what CUDA kernels compute in a precision of products.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_ROUNDED_FACTORS_H_
#define LEMMA_RUNTIME_CUDA_FUSION_ROUNDED_FACTORS_H_

#include <cstdint>

#include "graph/graph.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cuda {

// The result of RoundFactors.
struct RoundedFactors {
  Graph graph;
  // The number of operators whose factors are rounded. With kF32 and kStored, which round nothing:
  // the number of operators whose factors could be rounded.
  int products = 0;
  // The other operators that kernels on tensor cores compute. `graph` computes them without
  // rounding, for one of these reasons: a factor is not an operand in f32; the operator also reads
  // the factor outside of the product; in kF32x3, it does more to the sum than add a tensor.
  int left = 0;
};

// `graph` with operators that round the factors of products in front of the products that CUDA
// kernels would compute in options.precision: casts to f16 or bf16 and back, or round_tf32. In
// kF32x3, a product becomes three products of parts that round_tf32 gives, and two sums. Executed
// with sums in f32, `graph` has the errors of CUDA kernels, apart from three differences: the order
// of sums; tensor cores may truncate where f32 rounds; and streamed attention rounds the numerators
// of a softmax instead of the softmax. kF32 and kStored round nothing. `graph` also has the casts
// of StoreFactors (store_factors.h).
RoundedFactors RoundFactors(const Graph& graph, NodeTraitsCache& traits,
                            const codegen::GridOptions& options);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_ROUNDED_FACTORS_H_
