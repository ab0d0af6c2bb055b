// Horizontal fusion: puts several small kernels of a plan into one launch. Internal to planning.
#ifndef LEMMA_RUNTIME_CUDA_HORIZONTAL_FUSION_H_
#define LEMMA_RUNTIME_CUDA_HORIZONTAL_FUSION_H_

#include "runtime/cuda/cuda_plan.h"

namespace lemma::cuda {

// Moves small element-wise steps to the end of `plan` and fuses independent ones into one step,
// such as the updates of small parameters in a training step. Makes several fused steps if one
// would have more than kMostPointers operands and results (kernels/codegen/horizontal_fusion.h). A
// step may move if no step that stays reads its results. A moved step keeps its operands in memory
// until the end of the plan. This costs little, since each value that a small step reads or writes
// has at most 64 KiB. Call this function before launches are made and memory is placed.
void FuseSmallLaunches(CudaPlan* plan);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_HORIZONTAL_FUSION_H_
