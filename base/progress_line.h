// A progress line on standard error that is rewritten in place.
#ifndef LEMMA_BASE_PROGRESS_LINE_H_
#define LEMMA_BASE_PROGRESS_LINE_H_

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace lemma {

// The line is shown only if standard error is a terminal. Clear() and the
// destructor erase it. The flag `lemma --pipe` is for a program that reads the
// progress. With this flag, Show() instead writes a new line "progress: TEXT",
// and drops a text that comes less than 0.1 s after the last text that it
// wrote.
class ProgressLine {
 public:
  // `quiet`: nothing is shown, except with --pipe.
  explicit ProgressLine(bool quiet) : shown_(!for_program && !quiet && isatty(STDERR_FILENO)) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void Show(const std::string& text) {
    if (for_program) return Tell(text);
    if (!shown_) return;
    std::fprintf(stderr, "\r%-*s", width_, text.c_str());
    width_ = std::max(width_, static_cast<int>(text.size()));
  }
  void Clear() {
    if (shown_ && width_ > 0) std::fprintf(stderr, "\r%*s\r", width_, "");
    width_ = 0;
  }

  static inline bool for_program = false;  // --pipe; set before any line is made

 private:
  using Clock = std::chrono::steady_clock;
  void Tell(const std::string& text) {
    const Clock::time_point now = Clock::now();
    if (now - told_ < std::chrono::milliseconds(100)) return;
    told_ = now;
    std::fprintf(stderr, "progress: %s\n", text.c_str());
  }

  const bool shown_;
  Clock::time_point told_;
  int width_ = 0;
};

}  // namespace lemma

#endif  // LEMMA_BASE_PROGRESS_LINE_H_
