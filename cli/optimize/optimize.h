// Flags and results that the files of `lemma optimize` share. RunOptimize, in
// cli/optimize/optimize.cc, runs the command with the library (api/optimize.h).
#ifndef LEMMA_CLI_OPTIMIZE_OPTIMIZE_H_
#define LEMMA_CLI_OPTIMIZE_OPTIMIZE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "api/optimize.h"
#include "base/flags.h"
#include "base/progress_line.h"
#include "cli/common_flags.h"

namespace lemma::cli {

// The flags of `lemma optimize`; a member has the name of its flag. The texts in AddTo explain the
// flags.
struct OptimizeFlags {
  CommonFlags common;
  std::string output, rules, cost = "measured", cost_db = api::CostOptions().database, device,
                             wanted;
  std::string numerics = "reassociate";
  std::vector<std::string> disable, only;
  std::string effort = "normal", search = api::SearchNames().front(), pet = "off";
  int64_t nodes = 6000, budget = 5000, runs = 15;
  double alpha = 1.05, seconds = 0;
  std::string objective = "time", loops = "keep", execution = "on", target = "lemma";
  int64_t memory_limit = 0;  // bytes; 0: none
  double memory_weight = 0.5;
  double max_error = 0.01;                // if Quantizes()
  std::string calibration = "synthetic";  // if Quantizes()
  bool allow_unproved = false;
  // Files. The certificate goes to `certificate`; "": to OUTPUT.cert; "none": nowhere. `replay`:
  // the certificate to repeat, "": none. `report`: the HTML page to write, "": none.
  std::string certificate, replay;
  std::string report;
  std::vector<std::string> command;  // set by the command: the words of its command line
  std::vector<DimValues> hints;  // --hint: sizes of symbolic dimensions to optimize the model for
  bool explain = false;
  std::string why_not;  // the rule to explain; if `output` is empty, nothing else is done

  void AddTo(Flags* flags);
  // Sets `search`, `budget` and `nodes` to the values of `effort` (api::Efforts). Leaves a value
  // unchanged if its flag was given; `flags` must have been parsed. Sets `search` only if the
  // objective is time and there is no memory limit.
  void SetEffort(const Flags& flags);
  // InvalidArgument if a value is out of range, if -o is missing without
  // --why-not, or if flags do not go together. RunOptimize makes the checks
  // that depend on whether a flag was given.
  absl::Status Check() const;

  // The flags as options of the library. The caller adds the options that depend on the model or on
  // the clock, such as fixed, hints and deadline.
  api::OptimizeOptions Options() const;
  api::CostOptions Costs() const;
  optimizer::Objective ObjectiveOf() const;
  std::string CertificatePath() const;  // where to write the certificate; "": nowhere
  bool Quantizes() const { return numerics == "quantize" || numerics == "tf32"; }
  bool HasRandomSamples() const;  // whether --calibration names no file or folder
  // If Quantizes(): the flags of the optimization that precedes the quantization. Its output is OUT
  // with .f32.onnx in place of .onnx, and its --numerics is reassociate.
  OptimizeFlags BeforeQuantizing() const;
};

// The library's result, and figures that only the command measures.
struct Outcome {
  api::OptimizeResult result;
  // The resident memory of the process when the search began, and its maximum
  // during the search, in bytes. If there were several searches, both are of
  // the last one. Both are 0 if there was no search (--replay) or if the system
  // does not report them.
  int64_t search_start_bytes = 0, search_peak_bytes = 0;
};

// Shows on the progress line that a kernel is being measured. `kernel` is its signature.
void ShowMeasuring(absl::string_view kernel, ProgressLine* progress);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_OPTIMIZE_H_
