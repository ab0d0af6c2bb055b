// The predicted times of kernels beside those in a run, as text.
#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/costs.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

// Milliseconds; for several kernels their sum.
struct Times {
  int kernels = 0;
  double predicted = 0, in_run = 0;
};

}  // namespace

std::string TextOf(const Calibration& report) {
  std::map<std::string, Times> kinds;
  Times all;
  for (const auto& [timing, kind, predicted_ms] : report.kernels) {
    for (Times* times : {&kinds[kind], &all}) {
      ++times->kernels;
      times->predicted += predicted_ms;
      times->in_run += timing.ms;
    }
  }
  TextTable table({"<kernels", "number", "predicted ms", "in the run ms", "ratio"});
  auto row = [&table](const std::string& name, const Times& times) {
    table.Row({name, absl::StrCat(times.kernels), absl::StrFormat("%.3f", times.predicted),
               absl::StrFormat("%.3f", times.in_run),
               absl::StrFormat("%.2f", times.predicted / std::max(times.in_run, 1e-9))});
  };
  for (const auto& [kind, times] : kinds) row(kind, times);
  row("all", all);
  std::string text = table.ToString();
  absl::StrAppendFormat(&text, "the whole run takes %.3f ms, %.2f of it predicted\n", report.run_ms,
                        report.predicted_ms / std::max(report.run_ms, 1e-9));
  if (report.learned > 0) {
    absl::StrAppend(&text, "learned the times of ", FormatCount(report.learned, "kernel"), "\n");
  }
  return text;
}

}  // namespace lemma::api
