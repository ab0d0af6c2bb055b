// Training: a step's graph executed again and again, its state carried over.
#ifndef LEMMA_CLI_RUN_STEPS_H_
#define LEMMA_CLI_RUN_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/flags.h"
#include "cli/common_flags.h"

namespace lemma::cli {

struct StepFlags {
  int64_t steps = 0;  // 0: no training
  std::string state;  // safetensors; "": beside the model
  std::string data = "synthetic";
  int64_t batches = 16;          // different ones of synthetic data
  std::vector<std::string> set;  // NAME=VALUE of scalar inputs
  std::string checkpoint;
  int64_t every = 100;
  bool resume = false;

  void AddTo(Flags* flags);
  absl::Status Check() const;
};

// Runs the steps that are still to be done: each reads the state, that is each input NAME with an
// output NAME.next, and a batch, and leaves the new state. Prints the scalars that each step gives,
// and its time. Saves the state to the checkpoint every so many steps, after the last one and when
// interrupted. Equal seed, data, state and number of steps so far give equal values, bit for bit,
// whether in one process or several.
absl::StatusOr<int> RunSteps(const StepFlags& flags, const CommonFlags& common,
                             const std::string& path);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_RUN_STEPS_H_
