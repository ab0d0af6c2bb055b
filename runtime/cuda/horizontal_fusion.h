// Several small kernels of a plan as one launch. Internal to planning.
#ifndef LEMMA_RUNTIME_CUDA_HORIZONTAL_FUSION_H_
#define LEMMA_RUNTIME_CUDA_HORIZONTAL_FUSION_H_

#include "runtime/cuda/cuda_plan.h"

namespace lemma::cuda {

// Moves small element-wise steps, whose results only such steps and the graph's outputs need, to
// the end of `plan`, and makes one step of as many as have nothing to do with each other: the
// updates of small parameters in a step of training. Small: so that it costs next to nothing that
// what they read stays until then. Before launches are made and memory is placed.
void FuseSmallLaunches(CudaPlan* plan);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_HORIZONTAL_FUSION_H_
