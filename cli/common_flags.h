// Flags that several commands share, and what each does with its arguments.
#ifndef LEMMA_CLI_COMMON_FLAGS_H_
#define LEMMA_CLI_COMMON_FLAGS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "base/flags.h"
#include "base/json.h"
#include "cli/commands.h"
#include "graph/tensor.h"
#include "runtime/executor.h"
#include "runtime/measure.h"

namespace lemma::cli {

// How to read a model, and how to execute it.
struct CommonFlags {
  std::map<std::string, int64_t> dims;
  // Dimensions without a size stay symbolic, unless an operator needs numbers; a note then says so.
  bool symbolic = false;
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;  // of symbolic dimensions
  int64_t reseed = -1;  // the seed of new weights; negative: the model keeps its own
  bool json = false;
  int64_t seed = 1;
  int64_t threads = 1;
  std::string backend, fusion = "on", reuse = "late", precision = "f32", onnxruntime;
  std::vector<std::string> inputs;  // files of input values; empty: random values
  int64_t int_range = 2;
  bool training = false;  // keep operators that act in training only, such as dropout
  double max_memory_gb = api::HalfOfMemoryGb();

  CommonFlags();
  void AddModel(Flags* flags);      // --dim, --reseed-weights, --json
  void AddRanges(Flags* flags);     // --range
  void AddFusion(Flags* flags);     // --fusion
  void AddCuda(Flags* flags);       // --reuse, --precision
  void AddExecution(Flags* flags);  // the back end, threads and input values; also --fusion

  // The back end that executes the model, and the inputs' values, as the flags say.
  api::ExecutionOptions Execution() const;
  api::InputOptions InputValues() const;

  // InvalidArgument if a value is out of range, or if the back end does not know --fusion.
  absl::Status Check() const;
  // Reads the model, and replaces its weights if --reseed-weights is given. Notes go to standard
  // error unless --json.
  absl::StatusOr<api::Model> Load(const std::string& path) const;
  // The values of the model's inputs: the files of --inputs, default values, or random values.
  // ResourceExhausted, before anything is allocated, if the graph needs more than max_memory_gb.
  absl::StatusOr<std::vector<Tensor>> Inputs(const api::Model& model) const;
  absl::StatusOr<std::unique_ptr<Backend>> MakeBackend() const;
  // nullptr if the back end's kernels cannot be measured one by one.
  std::unique_ptr<KernelMeasurer> MakeMeasurer() const;
};

using Positional = std::vector<std::string>;  // arguments that are not flags

// Parses the arguments, and calls `run` with the positional ones; or prints the help, if that is
// asked for.
absl::StatusOr<int> ParseAndRun(
    Flags* flags, Arguments arguments,
    absl::FunctionRef<absl::StatusOr<int>(const Positional& positional)> run);
// The same for a command with one positional argument, called `what` in its help.
absl::StatusOr<int> ParseAndRun(Flags* flags, Arguments arguments, const std::string& what,
                                absl::FunctionRef<absl::StatusOr<int>(const std::string&)> run);

// The only positional argument; InvalidArgument if there is not exactly one.
absl::StatusOr<std::string> OneArgument(const std::string& what, const Positional& positional);
// The same for an argument that may be left out: "" if it is.
absl::StatusOr<std::string> OptionalArgument(const std::string& what, const Positional& positional);

// Prints the object on one line.
void PrintJson(const Json& json);

// The error with flags in the place of the library's names of options: "option max_ops" becomes
// "--max-ops", "option output" becomes "-o", unless `flags` has another name.
absl::Status WithFlags(const absl::Status& error,
                       const std::map<std::string, std::string>& flags = {});

}  // namespace lemma::cli

#endif  // LEMMA_CLI_COMMON_FLAGS_H_
