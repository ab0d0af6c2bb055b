// What `lemma optimize` shows while it works, and when Ctrl-C ends a search instead of the program.
#ifndef LEMMA_CLI_OPTIMIZE_PROGRESS_H_
#define LEMMA_CLI_OPTIMIZE_PROGRESS_H_

#include <cstdint>
#include <optional>

#include "api/optimize.h"
#include "cli/interrupt.h"
#include "cli/optimize.h"
#include "cli/progress_line.h"
#include "graph/graph.h"

namespace lemma::cli {

// The listener of one call of api::Optimize; both arguments must outlive it.
class OptimizeListener {
 public:
  OptimizeListener(const OptimizeFlags& flags, const Graph& input)
      : flags_(flags), input_(input), line_(flags.common.json) {}

  void operator()(const api::OptimizeProgress& progress);
  // When the call has returned.
  void End();

  // Whether a rule that is not proved kept the search from beginning.
  bool refuses_unproved() const { return refuses_unproved_; }
  int64_t search_start_bytes() const { return search_start_bytes_; }
  int64_t search_peak_bytes() const { return search_peak_bytes_; }

 private:
  using Stage = api::OptimizeProgress::Stage;
  void Enter(const api::OptimizeProgress& progress);
  void Leave();
  void WarnOfUnproved(const std::vector<optimizer::UnprovedRule>& unproved);
  void NoteOnMemory() const;

  const OptimizeFlags& flags_;
  const Graph& input_;
  ProgressLine line_;
  Stage stage_ = Stage::kRules;
  std::optional<InterruptScope> interrupt_;  // while a search, or a look for less memory, runs
  bool refuses_unproved_ = false;
  int64_t search_start_bytes_ = 0, search_peak_bytes_ = 0;
};

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_PROGRESS_H_
