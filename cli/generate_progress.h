// Shows the progress of `lemma generate` and estimates the remaining time.
#ifndef LEMMA_CLI_GENERATE_PROGRESS_H_
#define LEMMA_CLI_GENERATE_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "base/progress_line.h"

namespace lemma::cli {

// Shows one line, such as "deciding: 120 of 800, 96 proved, 14.2 a second, 680 left: about 48 s".
// Not thread-safe.
class GenerateProgress {
 public:
  // `quiet`: show nothing.
  explicit GenerateProgress(bool quiet) : line_(quiet) {}

  // As GenerateOptions::progress (api/generate.h).
  void Stage(const std::string& what, int64_t done, int64_t all);
  // As GenerateOptions::decided: counts one decision.
  void Decided(bool proved, bool known);
  // Removes the line.
  void Clear() { line_.Clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  void Show();

  ProgressLine line_;
  std::string what_;                 // the stage
  int64_t done_ = 0, all_ = 0;       // the arguments of the last call of Stage
  int64_t proved_ = 0;               // proved candidates in the whole run
  int64_t decided_ = 0;              // decisions since the last call of Stage
  int64_t first_ = 0, known_ = 0;    // `done` when the stage began; known decisions since then
  Clock::time_point began_, shown_;  // when the stage began; when the line was last shown
};

// "48 s" below 100 s, "12 min" below 100 min, otherwise "3.5 h".
std::string FormatDuration(double seconds);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_GENERATE_PROGRESS_H_
