// New values of state variables in the memory of the old ones.
#ifndef LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_
#define LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_

#include "absl/functional/function_ref.h"
#include "graph/graph.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cuda {

// Of a plan with launches but without places: where nothing reads the old value after the launch
// that first writes the new one, and that launch, if it does, reads each element only for the new
// value of the same element, both become one buffer. `buffer_of`: of each value; -1 if it has none.
void UpdateStateInPlace(absl::FunctionRef<int(const Value&)> buffer_of, NodeTraitsCache& traits,
                        CudaPlan* plan);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_
