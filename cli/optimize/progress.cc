#include "cli/optimize/progress.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/process_use.h"
#include "base/text_table.h"

namespace lemma::cli {
namespace {

constexpr int kManyOps = 600;

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
    line_.Show(absl::StrFormat("%s, cost %.3f -> %.3f ms, %.0f s", FormatCount(p.steps, "graph"),
                               p.initial.ms(), p.best.ms(), progress.seconds));
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
    ProcessMemory::ForgetPeak();
    search_start_bytes_ = ProcessMemory::Now().bytes;
  }
}

void OptimizeListener::Leave() {
  interrupt_.reset();
  if (stage_ == Stage::kSearch) search_peak_bytes_ = ProcessMemory::Now().peak_bytes;
  stage_ = Stage::kResult;
  line_.Clear();
}

void OptimizeListener::End() { Leave(); }

void OptimizeListener::WarnOfUnproved(const std::vector<optimizer::UnprovedRule>& unproved) {
  if (unproved.empty()) return;
  refuses_unproved_ = !flags_.allow_unproved && !flags_.output.empty();
  if (!flags_.allow_unproved || flags_.output.empty()) return;
  std::fprintf(stderr, "lemma: WARNING: --allow-unproved: rules without a proof are used: %s\n",
               api::NamesOf(unproved).c_str());
}

// If memory counts, the search plans the whole graph's memory for each rewrite that it tries.
void OptimizeListener::NoteOnMemory() const {
  if (flags_.ObjectiveOf().IsTime() || input_.num_ops() <= kManyOps) return;
  PrintNote(flags_.common.json,
            absl::StrCat("the memory of all ", input_.num_ops(),
                         " operators is planned for each rewrite that is tried, which takes long; "
                         "--seconds bounds the search"));
}

}  // namespace lemma::cli
