// The plot of memory over time: figures.h.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/report/figures.h"
#include "api/report/html.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

constexpr double kHeight = 180, kTop = 8;  // of the plot's lower edge, and of its upper edge

int64_t PeakOf(const ReportGraph& side) {
  if (side.live_bytes.empty()) return 0;
  return *std::max_element(side.live_bytes.begin(), side.live_bytes.end());
}

// The values as a line of steps, in a box of 1000 x 100 that is stretched to the plot's size.
std::string StepLine(const std::vector<int64_t>& values, double top, size_t longest,
                     const char* classes) {
  const double width = 1000.0 / static_cast<double>(std::max<size_t>(longest, 1));
  std::string line = absl::StrCat("<polyline class=\"", classes, "\" points=\"");
  for (size_t i = 0; i < values.size(); ++i) {
    const double y = 100 - 100 * static_cast<double>(values[i]) / top;
    absl::StrAppendFormat(&line, "%.2f,%.2f %.2f,%.2f ", width * static_cast<double>(i), y,
                          width * static_cast<double>(i + 1), y);
  }
  return line + "\"/>";
}

std::string MemoryAxes(double top, size_t longest) {
  std::string svg;
  for (double bytes : RoundNumbers(top)) {
    const double y = kHeight - (kHeight - kTop) * bytes / top;
    absl::StrAppendFormat(&svg,
                          "<line class=\"grid\" x1=\"0%%\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>"
                          "<text x=\"-8\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                          y, y, y + 4, FormatBytes(bytes));
  }
  for (double operators : RoundNumbers(static_cast<double>(longest))) {
    const double x = 100 * operators / static_cast<double>(longest);
    if (operators != std::floor(operators)) continue;
    absl::StrAppendFormat(&svg,
                          "<line class=\"tick\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%g\" y2=\"%g\"/>"
                          "<text x=\"%.2f%%\" y=\"%g\" text-anchor=\"%s\">%.0f</text>",
                          x, x, kHeight, kHeight + 4, x, kHeight + 17, x > 97 ? "end" : "middle",
                          operators);
  }
  return svg +
         absl::StrFormat(
             "<text x=\"50%%\" y=\"%g\" text-anchor=\"middle\">operators that have run</text>",
             kHeight + 34);
}

}  // namespace

std::string MemoryFigure(const Report& report) {
  const auto &before = report.before.live_bytes, &after = report.after.live_bytes;
  const size_t longest = std::max(before.size(), after.size());
  const int64_t peak = std::max(PeakOf(report.before), PeakOf(report.after));
  if (longest == 0 || peak <= 0) return "<p class=\"note\">Not known.</p>\n";
  const double top = static_cast<double>(peak) * 1.05;
  std::string html = "<figure id=\"memory-figure\">\n<p class=\"legend\">";
  for (const bool is_before : {true, false}) {
    const char* side = is_before ? "before" : "after";
    absl::StrAppend(
        &html, "<span class=\"", side, "\">", side, ", at most ",
        FormatBytes(static_cast<double>(PeakOf(is_before ? report.before : report.after))),
        "</span> ");
  }
  absl::StrAppendFormat(
      &html,
      "</p>\n<svg class=\"memory\" height=\"%g\" role=\"img\" aria-label=\"memory "
      "of values over time\">",
      kHeight + 40);
  html += MemoryAxes(top, longest);
  absl::StrAppendFormat(&html,
                        "<svg y=\"%g\" width=\"100%%\" height=\"%g\" viewBox=\"0 0 1000 100\" "
                        "preserveAspectRatio=\"none\">",
                        kTop, kHeight - kTop);
  absl::StrAppend(&html, StepLine(before, top, longest, "before"),
                  StepLine(after, top, longest, "after"));
  return html + "</svg></svg>\n</figure>\n";
}

}  // namespace lemma::api
