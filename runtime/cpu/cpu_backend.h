// The CPU back end: primitives of oneDNN, our own kernels, and loops for all other operators.
#ifndef LEMMA_RUNTIME_CPU_CPU_BACKEND_H_
#define LEMMA_RUNTIME_CPU_CPU_BACKEND_H_

#include <memory>

#include "runtime/cpu/kernels/convolutions/winograd_use.h"
#include "runtime/executor.h"
#include "runtime/measure.h"

namespace lemma {

struct CpuOptions {
  // Whether to fuse layout operators into their neighbors: reshapes, slices, transposes and the
  // like become views if strides allow it, operands of concatenations are written in place, and
  // products are written in the order that a following transpose needs. false, used in
  // comparisons: each layout operator that changes its operand is a kernel that copies; also,
  // nothing is computed in blocks, and products of quantized values are not computed on integers.
  bool fuse_layout = true;
  WinogradUse winograd = WinogradUse::kWhereFaster;
};

std::unique_ptr<Backend> MakeCpuBackend(const CpuOptions& options = {});

// Measures the kernels that the CPU back end would run with `threads` threads (cpu_measurer.cc).
std::unique_ptr<KernelMeasurer> MakeCpuMeasurer(int threads = 1, const CpuOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_RUNTIME_CPU_CPU_BACKEND_H_
