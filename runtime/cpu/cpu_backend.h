// The CPU back end: oneDNN where it has the operator, generated loops elsewhere.
#ifndef LEMMA_RUNTIME_CPU_CPU_BACKEND_H_
#define LEMMA_RUNTIME_CPU_CPU_BACKEND_H_

#include <memory>

#include "runtime/executor.h"
#include "runtime/measure.h"

namespace lemma {

std::unique_ptr<Backend> MakeCpuBackend();

// Measures the kernels that the CPU back end would run with so many threads.
std::unique_ptr<KernelMeasurer> MakeCpuMeasurer(int threads = 1);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_CPU_CPU_BACKEND_H_
