// Flags that several commands share, and functions that parse arguments and print results.
#ifndef LEMMA_CLI_COMMON_FLAGS_H_
#define LEMMA_CLI_COMMON_FLAGS_H_

#include <cstdint>
#include <map>
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

namespace lemma::cli {

// How to read a model, and how to execute it.
struct CommonFlags {
  std::map<std::string, int64_t> dims;  // --dim: sizes of symbolic dimensions
  // Set by commands, not by a flag: dimensions without a size stay symbolic. If an operator needs a
  // number in place of a symbolic size, the dimension is fixed, and a note says so
  // (LoadOptions::fixes_sizes in api/models/model_file.h). A dimension in `ranges` is never fixed:
  // an operator that needs its size as a number is an error.
  bool symbolic = false;
  // --range: the least and the greatest size of symbolic dimensions.
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;
  int64_t reseed = -1;  // the seed of new random weights; negative: the model keeps its weights
  bool json = false;    // print JSON instead of text
  int64_t seed = 1;     // of random inputs
  int64_t threads = 1;  // inside one kernel
  // --backend, --fusion, --winograd, --reuse, --precision, --tiles, and --onnxruntime: the file of
  // ONNX Runtime's library.
  std::string backend, fusion = "on", winograd = "on", reuse = "late", precision = "f32",
                       tiles = api::kTunedTiles, onnxruntime;
  std::vector<std::string> inputs;  // files of input values; empty: random values
  int64_t int_range = 2;            // as in api/models/random_values.h
  bool training = false;            // set by commands: keep operators that act in training only
  double max_memory_gb = api::HalfOfMemoryGb();  // InputOptions::max_memory_gb

  CommonFlags();
  void AddModel(Flags* flags);      // --dim, --reseed-weights, --json
  void AddRanges(Flags* flags);     // --range
  void AddFusion(Flags* flags);     // --fusion, --winograd
  void AddCuda(Flags* flags);       // --reuse, --precision, --tiles
  void AddRandom(Flags* flags);     // --seed, --int-range, --threads
  void AddExecution(Flags* flags);  // back end, threads, input values; the flags of AddFusion

  // The values of the flags as options of the library.
  api::ExecutionOptions Execution() const;
  api::InputOptions InputValues() const;

  // The errors of api::CheckExecutionOptions and api::CheckInputOptions; messages name flags.
  absl::Status Check() const;
  // Calls Check, reads the model, and replaces its weights if --reseed-weights is given. Prints the
  // model's notes on standard error, unless --json is given. Without --range, a model may be read
  // with fixed sizes although `symbolic` is true; a note says so, even with --json. This happens if
  // the model cannot be read with symbolic sizes, or if fewer of its operators are opaque
  // (docs/glossary.md) at the sizes of --inputs. `used_sizes`: LoadOptions::used_sizes.
  absl::StatusOr<api::Model> Load(const std::string& path,
                                  const std::map<std::string, int64_t>& used_sizes = {}) const;
};

using Positional = std::vector<std::string>;  // arguments that are not flags

// Adds the flag --define, parses the arguments into the values of the flags, defines the operators
// of the files in --define, calls `run` with the positional arguments, and returns its result. With
// --help it only prints the help, and returns kExitOk.
absl::StatusOr<int> ParseAndRun(
    Flags* flags, Arguments arguments,
    absl::FunctionRef<absl::StatusOr<int>(const Positional& positional)> run);
// The same for a command with exactly one positional argument, which `run` receives. Error messages
// call this argument `what`.
absl::StatusOr<int> ParseAndRun(Flags* flags, Arguments arguments, const std::string& what,
                                absl::FunctionRef<absl::StatusOr<int>(const std::string&)> run);

// The only positional argument, called `what` in messages; InvalidArgument unless there is exactly
// one.
absl::StatusOr<std::string> OneArgument(const std::string& what, const Positional& positional);
// The same for an argument that may be left out; then the result is "".
absl::StatusOr<std::string> OptionalArgument(const std::string& what, const Positional& positional);

// Adds --json.
void AddJson(Flags* flags, bool* json);
// Prints a note on one line of standard error, unless --json is given.
void PrintNote(bool json, const std::string& note);
// Prints the object on one line of standard output, or the text as it is.
void PrintJson(const Json& json);
void PrintText(const std::string& text);
// Prints what the library makes of its result: ToJson(result...) with --json, else
// TextOf(result...).
template <typename... Result>
void PrintResult(bool json, const Result&... result) {
  json ? PrintJson(ToJson(result...)) : PrintText(TextOf(result...));
}

// The error, with flags in place of the library's names of options (RenameOptions in
// api/models/option_error.h): "option max_ops" becomes "--max-ops", and "option output" becomes
// "-o". `flags` maps names of options to other texts.
absl::Status WithFlags(const absl::Status& error,
                       const std::map<std::string, std::string>& flags = {});

}  // namespace lemma::cli

#endif  // LEMMA_CLI_COMMON_FLAGS_H_
