// Shows the progress of `lemma generate` and estimates the remaining time.
#ifndef LEMMA_CLI_GENERATE_PROGRESS_H_
#define LEMMA_CLI_GENERATE_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "base/progress_line.h"

namespace lemma::cli {

// Shows "deciding: 120 of 800, 96 proved, 14.2 a second, 680 left: about 48 s". Not thread-safe.
class GenerateProgress {
 public:
  explicit GenerateProgress(bool quiet) : line_(quiet) {}

  // As GenerateOptions::progress (api/generate.h).
  void Stage(const std::string& what, int64_t done, int64_t all);
  // Counts one decision; `known`: an earlier process made it.
  void Decided(bool proved, bool known);
  void Clear() { line_.Clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  void Show();

  ProgressLine line_;
  std::string what_;
  int64_t done_ = 0, all_ = 0;
  int64_t proved_ = 0;             // in the whole run
  int64_t decided_ = 0;            // decisions since `done_` was set
  int64_t first_ = 0, known_ = 0;  // done at the stage's beginning; known decisions since then
  Clock::time_point began_, shown_;
};

// "48 s", "12 min", "3.5 h".
std::string FormatDuration(double seconds);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_GENERATE_PROGRESS_H_
