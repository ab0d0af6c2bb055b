#include "tests/verifier/kernels/checked_graph.h"

#include <memory>
#include <set>
#include <utility>

#include "api/checking/program_parts.h"
#include "gtest/gtest.h"
#include "runtime/cuda/fusion/store_factors.h"

namespace lemma {

cuda::CudaPlan CudaPlanOf(const Graph& graph, const codegen::GridOptions& grid) {
  NodeTraitsCache traits;
  cuda::PlanOptions options;
  options.grid = grid;
  options.reuse_late = true;
  auto plan = cuda::PlanGraph(cuda::StoreFactors(graph, traits, grid), traits, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : cuda::CudaPlan();
}

kernels::ProgramVerdict CheckStep(const cuda::CudaStep& step,
                                  const std::function<void(codegen::GridProgram*)>& change,
                                  codegen::ProductPrecision precision) {
  cuda::CudaStep changed = step;
  if (change != nullptr) {
    codegen::GridProgram program = *step.program;
    change(&program);
    changed.program = std::make_shared<const codegen::GridProgram>(std::move(program));
  }
  kernels::ProgramCheckOptions options;
  options.precision = precision;
  options.in_place = api::InPlace(changed);
  return kernels::CheckProgram(*changed.program, api::PartsOf(changed), options);
}

StepVerdicts CheckSteps(const Graph& graph) {
  StepVerdicts verdicts;
  std::set<std::string> known;
  const cuda::CudaPlan plan = CudaPlanOf(graph);
  for (const cuda::CudaStep& step : plan.steps) {
    if (step.program == nullptr || step.program->kernels.empty()) continue;
    std::string key = step.signature;
    for (const codegen::GridKernel& kernel : step.program->kernels) key += kernel.code;
    if (known.insert(key).second) verdicts.emplace_back(step.operators, CheckStep(step));
  }
  return verdicts;
}

}  // namespace lemma
