// The CPU back end: oneDNN where it has the operator, generated loops elsewhere.
#ifndef LEMMA_RUNTIME_CPU_CPU_BACKEND_H_
#define LEMMA_RUNTIME_CPU_CPU_BACKEND_H_

#include <memory>

#include "runtime/executor.h"
#include "runtime/measure.h"

namespace lemma {

struct CpuOptions {
  // Whether layout operators are fused into their neighbours: reshapes, slices, transposes and the
  // like are views where strides allow it, operands of concatenations are written in place, and
  // products in the order that a transpose behind them wants. Else each is a kernel that copies,
  // for comparison.
  bool fuse_layout = true;
};

std::unique_ptr<Backend> MakeCpuBackend(const CpuOptions& options = {});

// Measures the kernels that the CPU back end would run with so many threads.
std::unique_ptr<KernelMeasurer> MakeCpuMeasurer(int threads = 1, const CpuOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_RUNTIME_CPU_CPU_BACKEND_H_
