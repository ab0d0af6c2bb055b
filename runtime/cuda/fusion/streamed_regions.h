// Finds attention: a matrix product with a factor that is the softmax of another product.
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
  std::vector<int> nodes;    // positions in UseTable::nodes, ascending
  int scores = -1;           // position of the product that computes the scores
  int softmax_operand = -1;  // the number of the root's operand that is computed from the scores
  codegen::StreamSize size;
};
// The region whose last node is at position `root`. Its `nodes` are empty if there is no such
// region, if options.precision is f32, or if options.architecture is not kWarpgroupArchitecture.
// `is_product` tells for a node's position whether the node is a sum of products. If `stored` is
// given, f32 operands are treated as if they were stored in this type.
StreamedRegion FindStreamedRegion(int root, const UseTable& uses, NodeTraitsCache& traits,
                                  const std::function<bool(int)>& is_product,
                                  const codegen::GridOptions& options,
                                  std::optional<DType> stored = std::nullopt);

// How many microseconds a streamed kernel is predicted to save; negative if separate kernels are
// faster. Infinite if options.stream is set; otherwise 0 if no tile fits.
double GainOfStreaming(const codegen::StreamSize& size, const codegen::GridOptions& options);

// Whether the nodes at these positions, composed to one definition, become a streamed kernel.
bool IsStreamed(const std::vector<int>& nodes, const UseTable& uses,
                const codegen::GridOptions& options);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_STREAMED_REGIONS_H_
