// Finds products whose factors are 8-bit integers less their zero points, and stores known factors
// of such products in 8 bits. CUDA kernels multiply these factors as bytes on tensor cores.
#ifndef LEMMA_RUNTIME_CUDA_FUSION_BYTE_FACTORS_H_
#define LEMMA_RUNTIME_CUDA_FUSION_BYTE_FACTORS_H_

#include <vector>

#include "graph/graph.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/plan/node_traits.h"
#include "runtime/plan/use_table.h"

namespace lemma::cuda {

// `graph` with casts inserted: if one factor of a product is computed from 8-bit integers and the
// other one is known and holds such integers, the known factor is stored in 8 bits and widened in
// front of the product. Known zero points are stored in their integers' type, and left out if they
// are 0. Every value stays the same.
Graph StoreByteFactors(const Graph& graph, NodeTraitsCache& traits);

// By node: whether the node widens 8-bit integers or subtracts their zero point, and all its users
// belong to products that code generation multiplies as bytes. Fusion puts such a node into the
// kernels of its users, even if its value is known before the run. A node that widens a zero point,
// which is one number, may have other users too.
std::vector<bool> FindByteFactors(const UseTable& uses, NodeTraitsCache& traits,
                                  const codegen::GridOptions& options);

// Whether code generation multiplies bytes if these nodes, operands before users, are one kernel.
bool MultipliesBytes(const std::vector<NodePtr>& nodes, const codegen::GridOptions& options);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_FUSION_BYTE_FACTORS_H_
