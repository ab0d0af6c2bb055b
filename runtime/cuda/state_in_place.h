// Puts new values of state variables (graph/training_state.h) into the memory of the old values.
#ifndef LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_
#define LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_

#include "absl/functional/function_ref.h"
#include "graph/graph.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/plan/node_traits.h"

namespace lemma::cuda {

// For each state variable in plan->state, gives the new value the buffer of the old value if all of
// these hold; otherwise the two values keep separate buffers:
//
//   * The old value is no output of the graph.
//   * The new value is computed into the arena, and both values have the same number of bytes.
//   * No launch reads the old value after the launch that first writes the new value.
//   * That launch reads the old value through at most one of its arguments, and reads an element of
//     the old value only to compute the same element of the new value.
//
// If one kernel writes the new value, and the definition says which elements
// change (kernels/codegen/updates/update_in_place.h), such as one position of a
// cache of keys, the kernel is replaced by one that writes only these elements.
// The new kernel does not read the old value, and its time does not depend on
// the number of the other elements.
//
// `buffer_of` gives the index of a value's buffer in plan->buffers, or -1 if the value has none.
// Call this function before the buffers get their offsets.
void UpdateStateInPlace(absl::FunctionRef<int(const Value&)> buffer_of, NodeTraitsCache& traits,
                        CudaPlan* plan);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_STATE_IN_PLACE_H_
