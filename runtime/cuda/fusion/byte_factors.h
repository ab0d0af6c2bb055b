// Finds products of integers of 8 bits less their zero points, which tensor cores multiply as
// bytes.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_BYTE_FACTORS_H_
#define LEMMA_RUNTIME_CUDA_FUSION_BYTE_FACTORS_H_

#include <vector>

#include "graph/graph.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::cuda {

// `graph` with every factor whose integers are known stored in 8 bits, and widened for its product,
// if the other factor is computed from integers of 8 bits. Zero points that are known are stored in
// the type of their integers, and left out if they are 0. Every value stays the same.
Graph StoreByteFactors(const Graph& graph, NodeTraitsCache& traits);

// By node: whether it widens integers of 8 bits, or subtracts their zero point, for products that
// code generation multiplies as bytes, and for nothing else. Such a node belongs into the kernels
// of its users, even if it is static. A zero point, one number, may have other users too.
std::vector<bool> FindByteFactors(const UseTable& uses, NodeTraitsCache& traits,
                                  const codegen::GridOptions& options);

// Whether code generation multiplies bytes if these nodes, operands before users, are one kernel.
bool MultipliesBytes(const std::vector<NodePtr>& nodes, const codegen::GridOptions& options);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_BYTE_FACTORS_H_
