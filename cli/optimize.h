// What the parts of `lemma optimize` share.
#ifndef LEMMA_CLI_OPTIMIZE_H_
#define LEMMA_CLI_OPTIMIZE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "api/optimize.h"
#include "base/flags.h"
#include "cli/common_flags.h"
#include "cli/progress_line.h"

namespace lemma::cli {

// What the command line says.
struct OptimizeFlags {
  CommonFlags common;
  std::string output, rules, cost = "measured", cost_db = api::CostOptions().database, device;
  std::string numerics = "reassociate";
  std::vector<std::string> disable, only;
  std::string search = api::SearchNames().front(), pet = "off";
  int64_t nodes = 6000, budget = 5000, runs = 15;
  double alpha = 1.05, seconds = 0;
  std::string objective = "time";
  int64_t memory_limit = 0;  // bytes; 0: none
  double memory_weight = 0.5;
  bool allow_unproved = false;
  std::string certificate, replay;  // files; "none": no certificate
  std::string report;
  std::string why_not;  // a rule; without an output it is explained, and nothing else

  void AddTo(Flags* flags);
  // Values out of range, and flags that exclude each other: InvalidArgument.
  absl::Status Check() const;

  // The same for the library, but for the deadline and progress.
  api::OptimizeOptions Options() const;
  api::CostOptions Costs() const;
  optimizer::Objective ObjectiveOf() const;
  std::string CertificatePath() const;  // "": none
};

// What was found, with what only the command knows.
struct Outcome {
  api::OptimizeResult result;
  // Memory of the process when the search began, and the most while it ran.
  int64_t search_start_bytes = 0, search_peak_bytes = 0;
};

// "a, b, c".
std::string Names(const std::vector<optimizer::UnprovedRule>& rules);

// That the kernel is measured now.
void ShowMeasuring(absl::string_view kernel, ProgressLine* progress);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_H_
