// Shows the progress of `lemma optimize`, and lets Ctrl-C end a search instead of the program.
#ifndef LEMMA_CLI_OPTIMIZE_PROGRESS_H_
#define LEMMA_CLI_OPTIMIZE_PROGRESS_H_

#include <cstdint>
#include <optional>

#include "api/optimize.h"
#include "base/interrupt.h"
#include "base/progress_line.h"
#include "cli/optimize/optimize.h"
#include "graph/graph.h"

namespace lemma::cli {

// Receives the progress of one call of api::Optimize. `flags` and `input` must outlive the object.
class OptimizeListener {
 public:
  OptimizeListener(const OptimizeFlags& flags, const Graph& input)
      : flags_(flags), input_(input), line_(flags.common.json) {}

  void operator()(const api::OptimizeProgress& progress);
  // Ends the last stage. Call it after Optimize has returned.
  void End();

  // Whether Optimize refuses to search because a rule is unproved: --allow-unproved is not given,
  // and a result is to be written.
  bool refuses_unproved() const { return refuses_unproved_; }
  // As in Outcome (cli/optimize/optimize.h).
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
  std::optional<InterruptScope> interrupt_;  // set during a search or a memory reduction
  bool refuses_unproved_ = false;
  int64_t search_start_bytes_ = 0, search_peak_bytes_ = 0;
};

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_PROGRESS_H_
