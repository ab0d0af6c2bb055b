#include "cli/check_plan.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/models/model_file.h"
#include "base/json.h"
#include "cli/commands.h"
#include "runtime/cpu/plan_claims.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/cuda/plan_check.h"
#include "verifier/prover/prover.h"

namespace lemma::cli {
namespace {

// Kernels by how it is known what they compute.
struct Shown {
  int proved = 0;    // by the prover, for all real values
  int compared = 0;  // on random values: with numbers of their own, or too long for the prover
  int defined = 0;   // generated from the definitions, or by kernels of our own
  std::string problem;
};

// A kernel's statement is a few operators: what takes longer is left to random values.
ProverOptions QuickProof() {
  ProverOptions options;
  options.work = 2'000'000;
  options.samples = 0;
  options.strictest = FloatContract::kRealOnly;
  return options;
}

// Whether two kernels of this signature may differ: by numbers that were made of weights.
bool HasNumbers(const KernelClaim& claim) {
  return claim.has_numbers ||
         std::any_of(claim.statics.begin(), claim.statics.end(),
                     [](const Tensor& t) { return !t.empty_handle() && t.size() == 1; });
}

absl::StatusOr<Shown> Show(const PlanCheckFlags& flags, const Graph& graph) {
  CompileOptions options;
  options.threads = static_cast<int>(flags.threads);
  auto claims = ClaimsOfPlan(graph, options);
  if (!claims.ok()) return claims.status();
  Shown shown;
  std::map<std::string, bool> known;  // by signature: whether it was proved
  for (const KernelClaim& claim : *claims) {
    if (!claim.statement) {
      ++shown.defined;
      continue;
    }
    auto [entry, is_new] = known.try_emplace(claim.kernel, false);
    if (is_new || HasNumbers(claim)) {
      const absl::Status equal = CheckClaim(claim, static_cast<uint64_t>(flags.seed));
      if (!equal.ok() && !absl::IsInvalidArgument(equal)) return equal;
      if (!equal.ok()) {
        shown.problem = std::string(equal.message());
        return shown;
      }
      entry->second = !claim.has_numbers &&
                      IsProved(ProveGraphs(claim.meaning, *claim.statement, QuickProof()));
    }
    ++(entry->second ? shown.proved : shown.compared);
  }
  return shown;
}

// As `lemma run --backend=cuda` would execute it.
absl::StatusOr<int> CheckCudaPlan(const PlanCheckFlags& flags, const Graph& graph) {
  NodeTraitsCache traits;
  cuda::PlanOptions options;
  options.reuse_late = true;
  auto plan = cuda::PlanGraph(graph, traits, options);
  if (!plan.ok()) return plan.status();
  absl::Status problem = cuda::CheckPlan(graph, *plan);
  cuda::ProductCheck products;
  if (problem.ok()) {
    auto checked = cuda::CheckProducts(*plan, static_cast<uint64_t>(flags.seed));
    if (checked.ok()) products = *checked;
    problem = checked.status();
  }
  if (!problem.ok() && !absl::IsInternal(problem)) return problem;
  const int launches = static_cast<int>(plan->launches.size());
  if (flags.json) {
    Json json = Json::Object();
    json.Set("ok", problem.ok()).Set("problem", std::string(problem.message()));
    json.Set("launches", launches).Set("compared", products.launches);
    json.Set("by_definition", launches - products.launches).Set("seed", flags.seed);
    std::puts(json.ToString().c_str());
  } else if (!problem.ok()) {
    std::printf("REJECTED: %s\n", std::string(problem.message()).c_str());
  } else {
    std::printf(
        "checked: of %d launches each finds in memory what its operators read, in every order that "
        "the plan allows; %d are products, described to the library as their operators mean on "
        "random values, %d are generated or copies\n",
        launches, products.launches, launches - products.launches);
  }
  return problem.ok() ? kExitOk : kExitNo;
}

}  // namespace

absl::StatusOr<int> CheckPlan(const PlanCheckFlags& flags, const std::string& path) {
  if (flags.plan != "cpu" && flags.plan != "cuda") {
    return absl::InvalidArgumentError(
        absl::StrCat("--plan=", flags.plan, ": there are plans of cpu and of cuda"));
  }
  auto model = api::LoadModel(path);
  if (!model.ok()) return model.status();
  if (flags.plan == "cuda") return CheckCudaPlan(flags, model->graph);
  auto shown = Show(flags, model->graph);
  if (!shown.ok()) return shown.status();
  const bool ok = shown->problem.empty();
  if (flags.json) {
    Json json = Json::Object();
    json.Set("ok", ok).Set("problem", shown->problem).Set("proved", shown->proved);
    json.Set("compared", shown->compared).Set("by_definition", shown->defined);
    std::puts(json.Set("seed", flags.seed).ToString().c_str());
    return ok ? kExitOk : kExitNo;
  }
  if (!ok) {
    std::printf("REJECTED: %s\n", shown->problem.c_str());
    return kExitNo;
  }
  std::printf(
      "checked: %d kernels of the library are proved to compute, in real numbers, what their "
      "operators mean, %d compute it on random values, %d are generated or our own; each element "
      "stays in memory until it is read\n",
      shown->proved, shown->compared, shown->defined);
  return kExitOk;
}

}  // namespace lemma::cli
