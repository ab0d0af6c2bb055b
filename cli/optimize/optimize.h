// Flags and results that the files of `lemma optimize` share. RunOptimize is in
// cli/optimize/optimize.cc; it calls api/optimize.h.
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

// The flags of the command line, by their names; the texts in AddTo explain them.
struct OptimizeFlags {
  CommonFlags common;
  std::string output, rules, cost = "measured", cost_db = api::CostOptions().database, device;
  std::string numerics = "reassociate";
  std::vector<std::string> disable, only;
  std::string effort = "normal", search = api::SearchNames().front(), pet = "off";
  int64_t nodes = 6000, budget = 5000, runs = 15;
  double alpha = 1.05, seconds = 0;
  std::string objective = "time", loops = "keep", execution = "on", target = "lemma";
  int64_t memory_limit = 0;  // bytes; 0: none
  double memory_weight = 0.5;
  bool allow_unproved = false;
  std::string certificate, replay;  // files; "none": no certificate
  std::string report;
  std::vector<DimValues> hints;  // sizes to optimize a model with symbolic dimensions for
  bool explain = false;
  std::string why_not;  // a rule to explain; without an output nothing else is done

  void AddTo(Flags* flags);
  // Sets `search`, `budget` and `nodes` to those of `effort` (api::Efforts), except those whose
  // flags were given; `search` only if the objective is time.
  void SetEffort(const Flags& flags);
  // InvalidArgument if a value is out of range, or if two flags exclude each other.
  absl::Status Check() const;

  // The flags as options of the library, without those that depend on the model or on the clock:
  // fixed, unfolded, hints, deadline and on_progress.
  api::OptimizeOptions Options() const;
  api::CostOptions Costs() const;
  optimizer::Objective ObjectiveOf() const;
  std::string CertificatePath() const;  // "": none
};

// The library's result, with figures that only the command knows.
struct Outcome {
  api::OptimizeResult result;
  // The memory of the process when the search began, and its maximum during the search.
  int64_t search_start_bytes = 0, search_peak_bytes = 0;
};

// The rules' names: "a, b, c".
std::string Names(const std::vector<optimizer::UnprovedRule>& rules);

// Shows the signature of a kernel, which is being measured, on the progress line.
void ShowMeasuring(absl::string_view kernel, ProgressLine* progress);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_OPTIMIZE_H_
