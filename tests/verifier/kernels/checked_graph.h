// Makes the CUDA plan of a graph and checks its kernels with verifier/kernels, for tests.
#ifndef LEMMA_TESTS_VERIFIER_KERNELS_CHECKED_GRAPH_H_
#define LEMMA_TESTS_VERIFIER_KERNELS_CHECKED_GRAPH_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/cuda/cuda_plan.h"
#include "verifier/kernels/kernel_check.h"

namespace lemma {

// The CUDA plan of `graph`. If there is none, the test fails and the result is empty.
cuda::CudaPlan CudaPlanOf(const Graph& graph, const codegen::GridOptions& options = {});

// The verdict about the program of `step`; step.program must not be null. If `change` is given, it
// changes a copy of the program, and the verdict is about this copy. Kernels may round the factors
// of products to `precision`.
kernels::ProgramVerdict CheckStep(
    const cuda::CudaStep& step, const std::function<void(codegen::GridProgram*)>& change = nullptr,
    codegen::ProductPrecision precision = codegen::ProductPrecision::kF32);

// For each program of the graph's plan, a pair: the names of its operators and the verdict. Equal
// programs are listed once; programs without kernels are left out.
using StepVerdicts = std::vector<std::pair<std::string, kernels::ProgramVerdict>>;
StepVerdicts CheckSteps(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_KERNELS_CHECKED_GRAPH_H_
