// Checks the kernels of a graph's CUDA plan.
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

// Fails the test if there is no plan.
cuda::CudaPlan CudaPlanOf(const Graph& graph, const codegen::GridOptions& options = {});

// The verdict about the program of `step`, changed by `change` if one is given. Kernels may round
// the factors of products to `precision`.
kernels::ProgramVerdict CheckStep(
    const cuda::CudaStep& step, const std::function<void(codegen::GridProgram*)>& change = nullptr,
    codegen::ProductPrecision precision = codegen::ProductPrecision::kF32);

// For each program of the graph's plan, once for equal programs: its operators and the verdict.
using StepVerdicts = std::vector<std::pair<std::string, kernels::ProgramVerdict>>;
StepVerdicts CheckSteps(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_KERNELS_CHECKED_GRAPH_H_
