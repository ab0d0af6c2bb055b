// The CUDA back end: kernels generated from the operators' definitions (kernels/codegen).
#ifndef LEMMA_RUNTIME_CUDA_CUDA_BACKEND_H_
#define LEMMA_RUNTIME_CUDA_CUDA_BACKEND_H_

#include <memory>

#include "runtime/executor.h"
#include "runtime/measure.h"

namespace lemma {

struct CudaOptions {
  // Matrix products by cuBLASLt where it is found; else every kernel is generated.
  bool libraries = true;
};

// Plan() needs no GPU. Compile() without one is FailedPrecondition ("no CUDA device: …"), and so it
// is in a program built without CUDA's headers.
std::unique_ptr<Backend> MakeCudaBackend(const CudaOptions& options = {});

// Plans and counts without a GPU; MeasureMs needs one.
std::unique_ptr<KernelMeasurer> MakeCudaMeasurer(const CudaOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_RUNTIME_CUDA_CUDA_BACKEND_H_
