// Flags that several commands share.
#ifndef LEMMA_CLI_COMMON_FLAGS_H_
#define LEMMA_CLI_COMMON_FLAGS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "base/flags.h"
#include "graph/tensor.h"
#include "runtime/executor.h"
#include "runtime/measure.h"

namespace lemma::cli {

// What to read, and how to run it.
struct CommonFlags {
  std::map<std::string, int64_t> dims;
  int64_t reseed = -1;  // of weights; negative: as they are
  bool json = false;
  int64_t seed = 1;
  int64_t threads = 1;
  std::string backend, fusion = "on", reuse = "late";
  std::vector<std::string> inputs;  // files; empty: random values
  int64_t int_range = 2;
  bool training = false;  // keep what matters in training only
  double max_memory_gb = api::HalfOfMemoryGb();

  CommonFlags();
  void AddModel(Flags* flags);      // --dim, --reseed-weights, --json
  void AddFusion(Flags* flags);     // --fusion
  void AddReuse(Flags* flags);      // --reuse
  void AddExecution(Flags* flags);  // this and the others

  api::ExecutionOptions Execution() const;
  api::InputOptions InputValues() const;

  // Values out of range, and a fusion that the back end has not: InvalidArgument.
  absl::Status Check() const;
  // The model, weights filled anew if asked for. Notes go to standard error unless --json.
  absl::StatusOr<api::Model> Load(const std::string& path) const;
  // What the model is to be run on: --inputs, in which inputs with a default may be left out, or
  // random values where there is no default. ResourceExhausted, before anything is allocated, if
  // the graph needs more than max_memory_gb.
  absl::StatusOr<std::vector<Tensor>> Inputs(const api::Model& model) const;
  absl::StatusOr<std::unique_ptr<Backend>> MakeBackend() const;
  // nullptr if the back end's kernels cannot be measured one by one.
  std::unique_ptr<KernelMeasurer> MakeMeasurer() const;
};

// The command's only positional argument, called `what` in its help; else InvalidArgument.
absl::StatusOr<std::string> OneArgument(const std::string& what,
                                        const std::vector<std::string>& positional);

// The error with flags in the place of the library's names of options: "option max_ops" becomes
// "--max-ops", unless `flags` says another one.
absl::Status WithFlags(const absl::Status& error,
                       const std::map<std::string, std::string>& flags = {});

}  // namespace lemma::cli

#endif  // LEMMA_CLI_COMMON_FLAGS_H_
