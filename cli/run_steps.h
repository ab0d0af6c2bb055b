// Implements `lemma run --steps`, which runs a training step repeatedly by TrainingRun
// (api/train.h).
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
  // If options.steps is 0, `lemma run` executes the model as it is, not as a training step. `set`
  // below adds to options.data.set.
  api::TrainingRunOptions options;
  std::vector<std::string> set;  // "NAME=VALUE" for scalar inputs

  void AddTo(Flags* flags);
  // InvalidArgument if a value is out of range, or if --state, --data, --set or --checkpoint is
  // given without --steps.
  absl::Status Check() const;
};

// Runs the training step at `path` until options.steps steps are done. The
// steps that were done before the initial state was saved count too. Prints the
// scalar outputs and the time of each step, and a summary at the end; with
// --json, only one object at the end. Returns kExitOk. Ctrl-C ends the run
// after the current step; then the state is saved if there is a --checkpoint,
// and the error is Cancelled.
absl::StatusOr<int> RunSteps(const StepFlags& flags, const CommonFlags& common,
                             const std::string& path);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_RUN_STEPS_H_
