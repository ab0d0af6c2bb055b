#include "runtime/cpu/plan_claims.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "runtime/cpu/plan_check.h"
#include "runtime/cpu/planner.h"
#include "runtime/cpu/statement.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/reference/reference.h"
#include "runtime/reference/static_evaluator.h"

namespace lemma {
namespace {

bool HasConstants(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const NodePtr& node) { return node->has_payload(); });
}

absl::StatusOr<KernelClaim> ClaimOf(const cpu::CpuKernelSpec& spec, cpu::StaticValues statics) {
  KernelClaim claim;
  claim.kernel = spec.Signature();
  LEMMA_ASSIGN_OR_RETURN(claim.meaning, cpu::MeaningOf(spec, statics));
  LEMMA_ASSIGN_OR_RETURN(std::unique_ptr<cpu::Kernel> kernel, cpu::BuildKernel(spec, statics));
  absl::StatusOr<Graph> statement = cpu::StatementOf(spec, *kernel);
  if (statement.ok()) {
    claim.has_constants = HasConstants(*statement);
    claim.statement = *std::move(statement);
  } else if (absl::IsUnimplemented(statement.status())) {
    claim.why_none = std::string(statement.status().message());
  } else {
    return statement.status();
  }
  claim.statics = std::move(statics);
  return claim;
}

}  // namespace

absl::StatusOr<std::vector<KernelClaim>> ClaimsOfPlan(const Graph& graph,
                                                      const CompileOptions& compile,
                                                      const CpuOptions& options) {
  NodeTraitsCache traits;
  LEMMA_ASSIGN_OR_RETURN(cpu::CpuPlan plan,
                         cpu::PlanGraph(graph, traits,
                                        {compile.threads, options.fuse_layout,
                                         /*with_places=*/false, options.winograd}));
  LEMMA_RETURN_IF_ERROR(cpu::CheckMovement(plan));
  LEMMA_RETURN_IF_ERROR(cpu::CheckConditions(plan));
  std::vector<int> ids;
  const std::vector<BufferLife> lives = plan.ArenaLives(&ids);
  LEMMA_RETURN_IF_ERROR(CheckMemoryPlan(lives, PlanMemory(lives)));
  StaticEvaluator evaluator(compile.threads);
  std::vector<KernelClaim> claims;
  for (const cpu::CpuStep& step : plan.steps) {
    cpu::StaticValues statics(step.spec->inputs.size());
    for (size_t i = 0; i < statics.size(); ++i) {
      if (step.static_inputs[i] < 0) continue;
      LEMMA_ASSIGN_OR_RETURN(statics[i], evaluator.Evaluate(plan.statics[step.static_inputs[i]]));
    }
    LEMMA_ASSIGN_OR_RETURN(KernelClaim claim, ClaimOf(*step.spec, std::move(statics)));
    claims.push_back(std::move(claim));
  }
  return claims;
}

absl::StatusOr<cpu::BlockEvidence> ProveBlocksOfPlan(const Graph& graph) {
  NodeTraitsCache traits;
  const cpu::GraphInBlocks both = cpu::DividedGraph(graph, traits);
  return cpu::CheckBlocks(both.whole, both.divided.graph);
}

absl::Status CheckClaim(const KernelClaim& claim, uint64_t seed) {
  if (!claim.statement) return absl::OkStatus();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> number(0.1, 1);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < claim.meaning.inputs().size(); ++i) {
    const Value& v = claim.meaning.inputs()[i];
    const Tensor& known = claim.statics[i];
    if (!known.empty_handle() && (claim.has_constants || known.size() == 1)) {
      inputs.push_back(known);
      continue;
    }
    std::vector<double> values(static_cast<size_t>(v.type().num_elements()));
    const DType dtype = v.dtype();
    for (double& value : values) {
      if (dtype == DType::kU8 || dtype == DType::kI8) {
        value = static_cast<double>(random() % 256) - (dtype == DType::kI8 ? 128 : 0);
      } else {
        value = number(random) * (random() % 2 == 0 ? 1 : -1);
      }
    }
    LEMMA_ASSIGN_OR_RETURN(Tensor values_of_v, Tensor::FromDoubles(v.type(), values));
    inputs.push_back(std::move(values_of_v));
  }
  const auto reference = MakeReferenceBackend(BetweenOperators::kUnrounded);
  std::vector<double> found[2];
  for (int side = 0; side < 2; ++side) {
    const Graph& graph = side == 0 ? claim.meaning : *claim.statement;
    LEMMA_ASSIGN_OR_RETURN(auto executable, reference->Compile(graph, {}));
    LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, executable->Run(inputs));
    found[side] = outputs[0].ToDoubles();
    if (graph.outputs()[0].type() != claim.meaning.outputs()[0].type()) {
      return absl::InvalidArgumentError("the statement's result has another type");
    }
  }
  double largest = 0, scale = 1;
  for (size_t i = 0; i < found[0].size(); ++i) {
    const double a = found[0][i], b = found[1][i];
    if (std::isfinite(a)) scale = std::max(scale, std::abs(a));
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double difference = std::abs(a - b);
    largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
  }
  if (largest <= (claim.has_constants ? 1e-5 : 1e-6) * scale) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the kernel computes something else: off by ",
                                                 largest, " of values up to ", scale, ": ",
                                                 claim.kernel));
}

}  // namespace lemma
