// Checks plans, kernel by kernel.
#include "runtime/cuda/plan_check.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/check.h"
#include "api/models/random_values.h"
#include "runtime/cpu/plan_claims.h"
#include "runtime/cuda/cuda_plan.h"
#include "verifier/prover/prover.h"

namespace lemma::api {
namespace {

// Limits for a kernel's statement, which has few operators. If its proof takes longer, random
// values must suffice.
ProverOptions QuickProof() {
  ProverOptions options;
  options.work = 2'000'000;
  options.samples = 0;
  options.strictest = FloatContract::kRealOnly;
  return options;
}

// Whether kernels of this signature may differ by numbers that were computed from weights.
bool HasNumbers(const KernelClaim& claim) {
  return claim.has_constants ||
         std::any_of(claim.statics.begin(), claim.statics.end(),
                     [](const Tensor& t) { return !t.empty_handle() && t.size() == 1; });
}

absl::StatusOr<PlanCheck> CheckCpuPlan(const Graph& graph, uint64_t seed, int threads) {
  CompileOptions options;
  options.threads = threads;
  auto claims = ClaimsOfPlan(graph, options);
  if (!claims.ok() && !absl::IsInternal(claims.status())) return claims.status();
  PlanCheck shown;
  if (!claims.ok()) {  // a value is overwritten too early, or a kernel skipped that is needed
    shown.problem = std::string(claims.status().message());
    return shown;
  }
  const auto blocks = ProveBlocksOfPlan(graph);
  if (!blocks.ok()) {
    shown.problem = std::string(blocks.status().message());
    return shown;
  }
  shown.in_blocks = blocks->applications;
  std::map<std::string, bool> known;  // by signature: whether it was proved
  for (const KernelClaim& claim : *claims) {
    if (!claim.statement) {
      ++shown.by_definition;
      continue;
    }
    auto [entry, is_new] = known.try_emplace(claim.kernel, false);
    if (is_new || HasNumbers(claim)) {
      const absl::Status equal = CheckClaim(claim, seed);
      if (!equal.ok() && !absl::IsInvalidArgument(equal)) return equal;
      if (!equal.ok()) {
        shown.problem = std::string(equal.message());
        return shown;
      }
      entry->second = !claim.has_constants &&
                      IsProved(ProveGraphs(claim.meaning, *claim.statement, QuickProof()));
    }
    ++(entry->second ? shown.proved : shown.compared);
  }
  return shown;
}

// Checks the plan by which the back end "cuda" would execute the graph.
absl::StatusOr<PlanCheck> CheckCudaPlan(const Graph& graph, uint64_t seed) {
  NodeTraitsCache traits;
  cuda::PlanOptions options;
  options.reuse_late = true;
  auto plan = cuda::PlanGraph(graph, traits, options);
  if (!plan.ok()) return plan.status();
  absl::Status problem = cuda::CheckPlan(graph, *plan);
  cuda::ProductCheck products;
  if (problem.ok()) {
    auto checked = cuda::CheckProducts(*plan, seed);
    if (checked.ok()) products = *checked;
    problem = checked.status();
  }
  if (!problem.ok() && !absl::IsInternal(problem)) return problem;
  PlanCheck result;
  result.problem = std::string(problem.message());
  result.compared = products.launches;
  result.by_definition = static_cast<int64_t>(plan->launches.size()) - products.launches;
  return result;
}

}  // namespace

std::vector<std::string> PlanCheckBackends() { return {"cpu", "cuda"}; }

absl::StatusOr<PlanCheck> CheckPlan(const Graph& graph, const PlanCheckOptions& options) {
  if (!absl::c_linear_search(PlanCheckBackends(), options.backend)) {
    return absl::InvalidArgumentError(absl::StrCat("there are plans of ",
                                                   absl::StrJoin(PlanCheckBackends(), " and of "),
                                                   ", not of ", options.backend));
  }
  const uint64_t seed = options.seed ? *options.seed : DrawSeed();
  auto result = options.backend == "cuda" ? CheckCudaPlan(graph, seed)
                                          : CheckCpuPlan(graph, seed, options.threads);
  if (result.ok()) result->seed = seed;
  return result;
}

}  // namespace lemma::api
