// Puts new values of state variables into the memory of the old values.
#ifndef LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_
#define LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_

#include "absl/functional/function_ref.h"
#include "graph/graph.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cuda {

// Merges the buffers of the old and the new value of each state variable in plan->state, on two
// conditions. Nothing, including the caller of a run, reads the old value after the launch that
// first writes the new value; and this launch reads an element of the old value only to compute the
// same element of the new value. `buffer_of` gives a value's buffer, or -1 if the value has none.
// Call it before memory is placed.
void UpdateStateInPlace(absl::FunctionRef<int(const Value&)> buffer_of, NodeTraitsCache& traits,
                        CudaPlan* plan);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_
