// lemma check MODEL --plan=BACKEND: whether a back end's plan computes what the model means.
#ifndef LEMMA_CLI_CHECK_PLAN_H_
#define LEMMA_CLI_CHECK_PLAN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace lemma::cli {

struct PlanCheckFlags {
  std::string plan;  // "cpu" or "cuda"
  bool json = false;
  int64_t seed = 1, threads = 1;
};

// Prints what was shown; exit status 1 if a kernel states something else than its operators.
absl::StatusOr<int> CheckPlan(const PlanCheckFlags& flags, const std::string& path);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_CHECK_PLAN_H_
