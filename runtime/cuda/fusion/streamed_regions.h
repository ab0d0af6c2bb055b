// Finds attention: products whose factor is the softmax of other products.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_STREAMED_REGIONS_H_
#define LEMMA_RUNTIME_CUDA_FUSION_STREAMED_REGIONS_H_

#include <functional>
#include <optional>
#include <vector>

#include "kernels/codegen/grid_program.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::cuda {

// Nodes that become one streamed kernel: the product `root`, the product of the scores, all nodes
// between them, and the casts and layout operators that make their operands. Only the root's value
// is read outside.
struct StreamedRegion {
  std::vector<int> nodes;  // positions, ascending; empty: there is no such kernel
  int scores = -1;         // position of the product that computes the scores
  int softmax = -1;        // the number of the root's operand that is computed from the scores
  codegen::StreamSize size;
};
// The region whose last node is at position `root`; without nodes if there is none, if the
// precision is f32, or if the architecture is not kWarpgroupArchitecture. `is_product` tells for a
// node's position whether the node is a sum of products. With `stored`, operands in f32 are treated
// as if they were stored in that type.
StreamedRegion FindStreamedRegion(int root, const UseTable& uses, NodeTraitsCache& traits,
                                  const std::function<bool(int)>& is_product,
                                  const codegen::GridOptions& options,
                                  std::optional<DType> stored = std::nullopt);

// How many microseconds a streamed kernel is predicted to save against separate kernels: negative
// if separate kernels are faster; 0 if no tile fits; infinite if GridOptions::stream is set.
double GainOfStreaming(const codegen::StreamSize& size, const codegen::GridOptions& options);

// Whether the nodes at these positions, composed to one definition, become a streamed kernel.
bool IsStreamed(const std::vector<int>& nodes, const UseTable& uses,
                const codegen::GridOptions& options);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_STREAMED_REGIONS_H_
