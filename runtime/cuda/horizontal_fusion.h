// Horizontal fusion: puts several small kernels of a plan into one launch. Internal to planning.
#ifndef LEMMA_RUNTIME_CUDA_HORIZONTAL_FUSION_H_
#define LEMMA_RUNTIME_CUDA_HORIZONTAL_FUSION_H_

#include "runtime/cuda/cuda_plan.h"

namespace lemma::cuda {

// Moves small element-wise steps to the end of `plan` and fuses independent ones into one step,
// such as the updates of small parameters in a training step. A step may move if only moved steps
// and the graph's outputs need its results. Small steps read and write values of at most 64 KiB, so
// it costs next to nothing that their operands live until the end of the plan. Call it before
// launches are made and memory is placed.
void FuseSmallLaunches(CudaPlan* plan);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_HORIZONTAL_FUSION_H_
