// A progress line on standard error that is rewritten in place.
#ifndef LEMMA_CLI_PROGRESS_LINE_H_
#define LEMMA_CLI_PROGRESS_LINE_H_

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace lemma::cli {

// Shown on terminals only. The destructor erases it.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO)) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void Show(const std::string& text) {
    if (!shown_) return;
    std::fprintf(stderr, "\r%-*s", width_, text.c_str());
    width_ = std::max(width_, static_cast<int>(text.size()));
  }
  void Clear() {
    if (shown_ && width_ > 0) std::fprintf(stderr, "\r%*s\r", width_, "");
    width_ = 0;
  }

 private:
  const bool shown_;
  int width_ = 0;
};

}  // namespace lemma::cli

#endif  // LEMMA_CLI_PROGRESS_LINE_H_
