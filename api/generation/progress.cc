#include "api/generation/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text_table.h"

namespace lemma::api {

void GenerateProgress::Stage(const std::string& what, int64_t done, int64_t all) {
  if (what != what_ || done < done_) {
    began_ = Clock::now();
    first_ = done;
    known_ = 0;
    shown_ = {};
  }
  what_ = what;
  done_ = done;
  all_ = all;
  decided_ = 0;
  Show();
}

void GenerateProgress::Decided(bool proved, bool known) {
  ++decided_;
  proved_ += proved ? 1 : 0;
  known_ += known ? 1 : 0;
  Show();
}

void GenerateProgress::Show() {
  const Clock::time_point now = Clock::now();
  if (now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  std::string text = what_;
  if (all_ > 0) {
    const int64_t done = std::min(done_ + decided_, all_);
    absl::StrAppend(&text, ": ", done, " of ", all_);
    if (proved_ > 0) absl::StrAppend(&text, ", ", proved_, " proved");
    const double seconds = std::chrono::duration<double>(now - began_).count();
    const int64_t worked = done - first_ - known_;
    if (worked > 0 && seconds > 0.5) {
      const double rate = static_cast<double>(worked) / seconds;
      absl::StrAppendFormat(&text, ", %.3g a second, %d left: about %s", rate, all_ - done,
                            FormatDuration(static_cast<double>(all_ - done) / rate));
    }
  }
  show_(text);
}

}  // namespace lemma::api
