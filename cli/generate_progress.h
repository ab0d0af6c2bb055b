// What a run of `lemma generate` is at, and how long it will take.
#ifndef LEMMA_CLI_GENERATE_PROGRESS_H_
#define LEMMA_CLI_GENERATE_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/progress_line.h"

namespace lemma::cli {

// "deciding: 120 of 800, 96 proved, 14.2 a second, 680 left: about 48 s". One call at a time.
class GenerateProgress {
 public:
  explicit GenerateProgress(bool quiet) : line_(quiet) {}

  // As in api::GenerateOptions.
  void Stage(const std::string& what, int64_t done, int64_t all);
  // One more is decided; `known`: by an earlier process.
  void Decided(bool proved, bool known);
  void Clear() { line_.Clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  void Show();

  ProgressLine line_;
  std::string what_;
  int64_t done_ = 0, all_ = 0;
  int64_t proved_ = 0;             // in all
  int64_t decided_ = 0;            // that `done_` does not count yet
  int64_t first_ = 0, known_ = 0;  // done when the stage began; done since then without work
  Clock::time_point began_, shown_;
};

// "48 s", "12 min", "3.5 h".
std::string FormatDuration(double seconds);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_GENERATE_PROGRESS_H_
