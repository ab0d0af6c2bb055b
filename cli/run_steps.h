// `lemma run --steps`: runs a training step repeatedly. It calls TrainingRun (api/train.h).
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
  api::TrainingRunOptions options;  // steps == 0: no training
  std::vector<std::string> set;     // NAME=VALUE of scalar inputs

  void AddTo(Flags* flags);
  absl::Status Check() const;
};

// Runs the steps that are not done yet (--resume). Prints the scalar outputs of each step, and its
// time. Ctrl-C ends it after the current step; with --checkpoint, the state is saved.
absl::StatusOr<int> RunSteps(const StepFlags& flags, const CommonFlags& common,
                             const std::string& path);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_RUN_STEPS_H_
