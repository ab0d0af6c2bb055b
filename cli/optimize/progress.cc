#include "cli/optimize/progress.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/text_table.h"

namespace lemma::cli {
namespace {

constexpr int kManyOps = 600;

// A field of /proc/self/status in bytes: "VmRSS:", memory now, or "VmHWM:", the most since the last
// ForgetPeak(). 0 if there is none.
int64_t MemoryBytes(absl::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, field)) return 1024 * std::atoll(std::string(rest).c_str());
  }
  return 0;
}
void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << 5; }

}  // namespace

void ShowMeasuring(absl::string_view kernel, ProgressLine* progress) {
  progress->Show(absl::StrCat("measuring ", kernel.substr(0, 60)));
}

void OptimizeListener::operator()(const api::OptimizeProgress& progress) {
  if (progress.begins) {
    Leave();
    Enter(progress);
  } else if (!progress.measured.empty()) {
    ShowMeasuring(progress.measured, &line_);
  } else if (progress.search) {
    const optimizer::SearchProgress& p = *progress.search;
    line_.Show(absl::StrFormat("%d graphs, cost %.3f -> %.3f ms, %.0f s", p.steps, p.initial.ms(),
                               p.best.ms(), progress.seconds));
  } else {
    line_.Show(absl::StrCat("fewer values at once: peak ",
                            FormatBytes(static_cast<double>(progress.peak_bytes)), " of ",
                            FormatBytes(static_cast<double>(flags_.memory_limit))));
  }
}

void OptimizeListener::Enter(const api::OptimizeProgress& progress) {
  stage_ = progress.stage;
  if (stage_ == Stage::kRules) WarnOfUnproved(progress.so_far->unproved);
  if (stage_ == Stage::kMutants) line_.Show("mutants");
  if (stage_ == Stage::kSearch || stage_ == Stage::kMemory) interrupt_.emplace();
  if (stage_ == Stage::kSearch) {
    NoteOnMemory();
    ForgetPeak();
    search_start_bytes_ = MemoryBytes("VmRSS:");
  }
}

void OptimizeListener::Leave() {
  interrupt_.reset();
  if (stage_ == Stage::kSearch) search_peak_bytes_ = MemoryBytes("VmHWM:");
  stage_ = Stage::kResult;
  line_.Clear();
}

void OptimizeListener::End() { Leave(); }

void OptimizeListener::WarnOfUnproved(const std::vector<optimizer::UnprovedRule>& unproved) {
  if (unproved.empty()) return;
  refuses_unproved_ = !flags_.allow_unproved && !flags_.output.empty();
  if (!flags_.allow_unproved || flags_.output.empty()) return;
  std::fprintf(stderr, "lemma: WARNING: --allow-unproved: rules without a proof are used: %s\n",
               Names(unproved).c_str());
}

// If memory counts, the search plans the whole graph's memory for each rewrite that it tries.
void OptimizeListener::NoteOnMemory() const {
  if (flags_.ObjectiveOf().IsTime() || input_.num_ops() <= kManyOps || flags_.common.json) return;
  std::fprintf(stderr,
               "lemma: note: the memory of all %d operators is planned for each rewrite that is "
               "tried, which takes long; --seconds bounds the search\n",
               input_.num_ops());
}

}  // namespace lemma::cli
