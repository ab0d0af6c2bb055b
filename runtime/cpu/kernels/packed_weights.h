// Packs weights into the layouts of oneDNN's kernels, once for all kernels that need the same copy.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_PACKED_WEIGHTS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_PACKED_WEIGHTS_H_

#include <dnnl.hpp>
#include <memory>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma::cpu {

// A copy of `value` in the layout `to`. `from` describes the shape and type in which the row-major
// elements of `value` are read. If `value` is the payload of `weight`, all kernels of the process
// that ask for the same copy share it, and the copy is freed with the last pointer to it. So
// executables of one model at several sizes share their weights. If `weight` is empty, the copy is
// not shared. Thread-safe.
std::shared_ptr<const dnnl::memory> PackedWeight(const Value& weight, const Tensor& value,
                                                 const dnnl::memory::desc& from,
                                                 const dnnl::memory::desc& to);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_PACKED_WEIGHTS_H_
