// Matrix products by cuBLASLt, found when the program runs. Only where the program was built with
// CUDA's headers (HAVE_CUDA).
#ifndef LEMMA_RUNTIME_CUDA_CUBLAS_H_
#define LEMMA_RUNTIME_CUDA_CUBLAS_H_

#include <cuda.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/codegen/gemm_call.h"

namespace lemma::cuda {

// A product of matrices at fixed addresses, its algorithm chosen. It needs no workspace, so that
// products may run side by side.
class MatrixProduct {
 public:
  virtual ~MatrixProduct() = default;
  // May be captured.
  virtual absl::Status Launch(CUstream stream) const = 0;
};

// The library for the context that was current when it was opened; it must outlive its products.
class Cublas {
 public:
  virtual ~Cublas() = default;
  // By the algorithm that the library's heuristics put first, in f32 without TF32. `arguments`: the
  // addresses of the kernel's. Unimplemented where the library has none for such matrices.
  virtual absl::StatusOr<std::unique_ptr<MatrixProduct>> Choose(
      const codegen::GemmCall& call, absl::Span<const CUdeviceptr> arguments) const = 0;
};

// The newest library that can be loaded, up to version `newest` of CUDA unless that is 0.
// FailedPrecondition if there is none; Internal if it does not start.
absl::StatusOr<std::unique_ptr<Cublas>> OpenCublas(int newest);

// "cuBLASLt 13.1.0"; FailedPrecondition as above. Needs no GPU.
absl::StatusOr<std::string> CublasVersion(int newest);

// Whether the library takes the description of `call`; as above if there is none. Needs no GPU.
absl::Status CheckDescription(const codegen::GemmCall& call);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUBLAS_H_
