// Puts new values of state variables into the memory of the old ones.
#ifndef LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_
#define LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_

#include "absl/functional/function_ref.h"
#include "graph/graph.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cuda {

// Merges the buffers of a state variable's old and new value, in a plan whose buffers have no
// addresses yet, on two conditions. Nothing reads the old value after the launch that first writes
// the new one; and that launch reads an element of the old value only to compute the same element
// of the new one. `buffer_of` gives a value's buffer, or -1 if it has none.
void UpdateStateInPlace(absl::FunctionRef<int(const Value&)> buffer_of, NodeTraitsCache& traits,
                        CudaPlan* plan);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_
