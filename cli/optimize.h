// What the parts of `lemma optimize` share.
#ifndef LEMMA_CLI_OPTIMIZE_H_
#define LEMMA_CLI_OPTIMIZE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "api/optimization/acceptance.h"
#include "base/flags.h"
#include "cli/common_flags.h"
#include "cli/why_not.h"
#include "optimizer/cost/cost_db.h"
#include "optimizer/cost/objective.h"
#include "optimizer/search/rewrite_filter.h"
#include "optimizer/search/search.h"

namespace lemma::cli {

// What the command line says.
struct OptimizeFlags {
  CommonFlags common;
  std::string output, rules, cost = "measured", cost_db = CostDb::DefaultPath(), device;
  std::string numerics = "reassociate";
  std::vector<std::string> disable, only;
  std::string search = "backtracking", pet = "off";
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

  RewriteFilter Filter() const;
  Objective ObjectiveOf() const;
  // Whether input and result are timed.
  bool Times() const { return device.empty() && replay.empty(); }
  // Whether it is for a GPU that is not here.
  bool DeviceIsAbsent() const {
    return !device.empty() && absl::StartsWith(common.backend, "cuda");
  }
  std::string CertificatePath() const;  // "": none
};

// What came of it.
struct Outcome {
  std::vector<UnprovedRule> unproved;  // allowed, used or not
  SearchResult search;
  double search_seconds = 0;  // of a second search too, with corrected costs; `search` is the last
  double best_seconds = 0;    // until the best graph was found
  // Memory of the process when the search began, and the most while it ran.
  int64_t search_start_bytes = 0, search_peak_bytes = 0;
  api::Acceptance accepted;
  int64_t learned = 0;  // kernels whose costs were corrected, since what was found did not pay
  std::optional<WhyNotReport> why_not;
};

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_H_
