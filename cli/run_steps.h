// lemma run --steps: a step of training, executed again and again.
#ifndef LEMMA_CLI_RUN_STEPS_H_
#define LEMMA_CLI_RUN_STEPS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/train.h"
#include "base/flags.h"
#include "cli/common_flags.h"

namespace lemma::cli {

struct StepFlags {
  api::TrainingRunOptions options;  // steps 0: no training
  std::vector<std::string> set;     // NAME=VALUE of scalar inputs

  void AddTo(Flags* flags);
  absl::Status Check() const;
};

// Runs the steps that are still to be done. Prints the scalars that each gives, and its time.
// Ctrl-C ends it after a step, whose state is saved.
absl::StatusOr<int> RunSteps(const StepFlags& flags, const CommonFlags& common,
                             const std::string& path);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_RUN_STEPS_H_
