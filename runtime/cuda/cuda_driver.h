// The CUDA driver, loaded at run time, so that one program works on machines with and without it.
// Only in programs built with CUDA's headers (HAVE_CUDA).
#ifndef LEMMA_RUNTIME_CUDA_CUDA_DRIVER_H_
#define LEMMA_RUNTIME_CUDA_CUDA_DRIVER_H_

#include <cuda.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lemma::cuda {

// Functions of libcuda.so.1, under CUDA's names, in the versions that cuda.h chooses. Before CUDA
// 12.8, the driver has no cuEventElapsedTime_v2; the older version takes its place.
#define LEMMA_CUDA_FUNCTIONS(F)  \
  F(cuInit)                      \
  F(cuDriverGetVersion)          \
  F(cuDeviceGetCount)            \
  F(cuDeviceGet)                 \
  F(cuDeviceGetName)             \
  F(cuDeviceGetAttribute)        \
  F(cuDevicePrimaryCtxRetain)    \
  F(cuCtxSetCurrent)             \
  F(cuGetErrorString)            \
  F(cuMemAlloc)                  \
  F(cuMemFree)                   \
  F(cuMemHostAlloc)              \
  F(cuMemFreeHost)               \
  F(cuMemcpyHtoD)                \
  F(cuMemcpyHtoDAsync)           \
  F(cuMemcpyDtoHAsync)           \
  F(cuMemcpyDtoDAsync)           \
  F(cuMemsetD8Async)             \
  F(cuModuleLoadData)            \
  F(cuModuleGetFunction)         \
  F(cuFuncSetAttribute)          \
  F(cuTensorMapEncodeTiled)      \
  F(cuModuleUnload)              \
  F(cuLaunchKernel)              \
  F(cuStreamCreate)              \
  F(cuStreamDestroy)             \
  F(cuStreamSynchronize)         \
  F(cuStreamBeginCapture)        \
  F(cuStreamEndCapture)          \
  F(cuEventCreate)               \
  F(cuEventDestroy)              \
  F(cuEventRecord)               \
  F(cuEventElapsedTime)          \
  F(cuGraphCreate)               \
  F(cuGraphDestroy)              \
  F(cuGraphAddKernelNode)        \
  F(cuGraphAddMemcpyNode)        \
  F(cuGraphAddChildGraphNode)    \
  F(cuGraphInstantiateWithFlags) \
  F(cuGraphLaunch)               \
  F(cuGraphExecDestroy)

// Pointers to these functions, each under the function's name.
struct CudaDriver {
#define LEMMA_CUDA_POINTER(name) decltype(&::name) name = nullptr;
  LEMMA_CUDA_FUNCTIONS(LEMMA_CUDA_POINTER)
#undef LEMMA_CUDA_POINTER

  // OK if `result` is CUDA_SUCCESS; ResourceExhausted if memory is exhausted; Internal for all
  // other results. The message of an error is "WHAT: CUDA's message", where WHAT is `what`.
  absl::Status Check(CUresult result, absl::string_view what) const;
};

// The first device, with its primary context. One per process; never released.
struct CudaDevice {
  const CudaDriver* driver = nullptr;
  CUdevice device = 0;
  CUcontext context = nullptr;
  std::string name;
  int architecture = 0;    // 90 for sm_90
  int driver_version = 0;  // 13000 for CUDA 13.0
};

// The device. Makes its context current for the calling thread. FailedPrecondition ("no CUDA
// device: …") without a driver or a device, or if the driver lacks a function; other errors as in
// CudaDriver::Check. Only the first call opens the device; if it fails, so do all later calls.
absl::StatusOr<const CudaDevice*> OpenDevice();

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUDA_DRIVER_H_
