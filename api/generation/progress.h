// Tells of the progress of a run of the generator, and estimates the remaining time.
#ifndef LEMMA_API_GENERATION_PROGRESS_H_
#define LEMMA_API_GENERATION_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace lemma::api {

// Gives lines such as "deciding: 120 of 800, 96 proved, 14.2 a second, 680 left: about 48 s" to
// `show`: one when a stage begins, then at most ten a second. Not thread-safe.
class GenerateProgress {
 public:
  explicit GenerateProgress(std::function<void(const std::string&)> show)
      : show_(std::move(show)) {}

  // As GenerateOptions::progress (api/generate.h).
  void Stage(const std::string& what, int64_t done, int64_t all);
  // As GenerateOptions::decided: counts one decision.
  void Decided(bool proved, bool known);

 private:
  using Clock = std::chrono::steady_clock;
  void Show();

  std::function<void(const std::string&)> show_;
  std::string what_;                 // the stage
  int64_t done_ = 0, all_ = 0;       // the arguments of the last call of Stage
  int64_t proved_ = 0;               // proved candidates in the whole run
  int64_t decided_ = 0;              // decisions since the last call of Stage
  int64_t first_ = 0, known_ = 0;    // `done` when the stage began; known decisions since then
  Clock::time_point began_, shown_;  // when the stage began; when the line was last shown
};

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATION_PROGRESS_H_
