// Computes matrix products with cuBLASLt, which is loaded at run time. Only in programs built with
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

// A product of matrices at fixed addresses, with a chosen algorithm. Several products may run at
// the same time if each has a workspace of its own.
class MatrixProduct {
 public:
  virtual ~MatrixProduct() = default;
  // The device memory that the algorithm needs besides the matrices. Unless it is 0, call
  // SetWorkspace before Launch. The caller owns the workspace.
  virtual int64_t workspace_bytes() const = 0;
  virtual void SetWorkspace(CUdeviceptr workspace) = 0;
  // May be captured into a CUDA graph.
  virtual absl::Status Launch(CUstream stream) const = 0;
};

// The library, for the CUDA context that is current when OpenCublas is called. The object must
// outlive its products.
class Cublas {
 public:
  virtual ~Cublas() = default;
  // The product of `call`, with the algorithm that the library's heuristics rank first. The
  // algorithm may round factors to the call's precision, but no further: f32 does not use TF32.
  // `arguments[i]` is the device address of argument i; GemmMatrix::argument and
  // GemmCall::bias_argument are numbers of arguments. `most_workspace` is the limit on the
  // workspace in bytes. Unimplemented if the library has no algorithm for such matrices.
  virtual absl::StatusOr<std::unique_ptr<MatrixProduct>> Choose(
      const codegen::GemmCall& call, absl::Span<const CUdeviceptr> arguments,
      int64_t most_workspace) const = 0;
};

// Opens the newest library whose major CUDA version (such as 12) is at most `newest`; the newest of
// all if `newest` is 0. FailedPrecondition if there is no such library; Internal if the library
// does not start.
absl::StatusOr<std::unique_ptr<Cublas>> OpenCublas(int newest);

// The version of the library that OpenCublas(newest) opens: "cuBLASLt 13.1.0". FailedPrecondition
// if there is none. Needs no GPU.
absl::StatusOr<std::string> CublasVersion(int newest);

// OK if the library accepts the description of `call`, otherwise the library's error. The numbers
// of arguments in `call` must be below 8. FailedPrecondition if there is no library. Needs no GPU.
absl::Status CheckDescription(const codegen::GemmCall& call);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUBLAS_H_
