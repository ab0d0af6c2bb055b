// `lemma run --steps`: runs a training step repeatedly, by TrainingRun (api/train.h).
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
  // steps == 0: the model is executed once, not as a training step. `set` below replaces data.set.
  api::TrainingRunOptions options;
  std::vector<std::string> set;  // "NAME=VALUE" for scalar inputs

  void AddTo(Flags* flags);
  // InvalidArgument if a value is out of range, or if a flag of training is given without --steps.
  absl::Status Check() const;
};

// Runs the steps of the model at `path` that are not done yet (--resume). Prints the scalar outputs
// and the time of each step or, with --json, one object at the end. Ctrl-C ends it after the
// current step with Cancelled; with --checkpoint, the state is saved. Returns an exit status.
absl::StatusOr<int> RunSteps(const StepFlags& flags, const CommonFlags& common,
                             const std::string& path);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_RUN_STEPS_H_
