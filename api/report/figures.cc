#include "api/report/figures.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/report/html.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

constexpr int kColors = 7;

std::string KindOf(const KernelTiming& kernel) {
  return kernel.kernel.substr(0, kernel.kernel.find_first_of("+ "));
}

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string LineAt(double x1, double y1, double x2, double y2, const char* classes) {
  return absl::StrFormat("<line class=\"%s\" x1=\"%.3f%%\" y1=\"%.1f\" x2=\"%.3f%%\" y2=\"%.1f\"/>",
                         classes, x1, y1, x2, y2);
}

// `anchor`: start, middle or end.
std::string TextAt(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.3f%%\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) +
         Escaped(text) + "</text>";
}

double SumOf(const std::vector<KernelTiming>& kernels) {
  double sum = 0;
  for (const KernelTiming& kernel : kernels) sum += kernel.ms;
  return sum;
}

// ---- Time ----

std::string TimeAxis(double top) {
  std::string svg = "<svg class=\"axis\" width=\"100%\" height=\"36\" aria-hidden=\"true\">";
  for (double tick : RoundNumbers(top)) {
    const double x = Percent(tick, top);
    absl::StrAppend(&svg, LineAt(x, 0, x, 5, "tick"),
                    TextAt(x, 18,
                           x < 1    ? "start"
                           : x > 95 ? "end"
                                    : "middle",
                           absl::StrFormat("%g", tick)));
  }
  return svg + TextAt(50, 34, "middle", "time of kernels, ms") + "</svg>\n";
}

std::string InOrder(const std::vector<KernelTiming>& kernels, const char* side, double top,
                    const std::map<std::string, int>& kinds) {
  std::string svg = absl::StrCat("<svg class=\"bars\" width=\"100%\" height=\"34\" role=\"img\" ",
                                 "aria-label=\"kernels ", side, ", in order\">");
  double x = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const double width = Percent(kernels[k].ms, top);
    absl::StrAppendFormat(&svg,
                          "<rect class=\"%s\" x=\"%.4f%%\" width=\"%.4f%%\" height=\"34\" "
                          "data-side=\"%s\" data-kernel=\"%d\"/>",
                          KindClass(kinds, kernels[k]), x, width, side, k);
    x += width;
  }
  return svg + "</svg>\n";
}

std::string ByKind(const std::vector<KernelTiming>& kernels, const char* side, double top,
                   const std::map<std::string, int>& kinds) {
  std::vector<std::pair<double, std::string>> sums(kinds.size());
  for (const auto& [kind, number] : kinds) sums[number].second = kind;
  for (const KernelTiming& kernel : kernels) sums[kinds.at(KindOf(kernel))].first += kernel.ms;
  std::string svg = absl::StrCat("<svg class=\"bars kinds\" width=\"100%\" height=\"20\" ",
                                 "role=\"img\" aria-label=\"time by kind of kernel ", side, "\">");
  double x = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto& [ms, kind] = sums[i];
    const double width = Percent(ms, top);
    absl::StrAppendFormat(&svg, "<rect class=\"k%d\" x=\"%.4f%%\" width=\"%.4f%%\" height=\"20\"/>",
                          std::min<int>(static_cast<int>(i), kColors), x, width);
    const std::string text = absl::StrCat(kind, " ", FormatMs(ms));
    if (width > 1.0 * static_cast<double>(text.size())) {
      svg += TextAt(x + width / 2, 14.5, "middle", text);
    }
    x += width;
  }
  return svg + "</svg>\n";
}

std::string Legend(const std::map<std::string, int>& kinds) {
  std::vector<std::string> names(kinds.size());
  for (const auto& [kind, number] : kinds) names[number] = kind;
  std::string html = "<p class=\"legend\">";
  for (size_t i = 0; i < names.size() && i < kColors; ++i) {
    absl::StrAppend(&html, "<span class=\"k", i, "\">", Escaped(names[i]), "</span> ");
  }
  if (names.size() > kColors) absl::StrAppend(&html, "<span class=\"k", kColors, "\">other</span>");
  return html + "</p>\n";
}

// ---- Roofline ----

constexpr double kRoofHeight = 270, kRoofTop = 24;

struct Spot {
  double intensity, rate;  // operations per byte, and per second
  int kernel;
  bool before;
  double share;  // of the graph's time
};

std::vector<Spot> SpotsOf(const Report& report) {
  std::vector<Spot> spots;
  for (const bool before : {true, false}) {
    const auto& kernels = (before ? report.before : report.after).kernels;
    const double sum = SumOf(kernels);
    for (size_t k = 0; k < kernels.size(); ++k) {
      const Work& work = kernels[k].work;
      const double bytes = work.bytes_read + work.bytes_written;
      if (work.flops <= 0 || bytes <= 0 || kernels[k].ms <= 0) continue;
      spots.push_back({work.flops / bytes, work.flops / (kernels[k].ms * 1e-3), static_cast<int>(k),
                       before, kernels[k].ms / sum});
    }
  }
  return spots;
}

// A logarithmic scale between powers of ten.
struct LogScale {
  double low = 0, high = 1;  // logarithms
  double from = 0, to = 1;   // places
  double At(double value) const {
    return from + (to - from) * (std::log10(value) - low) / (high - low);
  }
};

LogScale ScaleOf(double least, double greatest, double from, double to) {
  LogScale scale{std::floor(std::log10(least)), std::ceil(std::log10(greatest)), from, to};
  if (scale.high <= scale.low) scale.high = scale.low + 1;
  return scale;
}

std::string Power(double logarithm) {
  return logarithm >= -2 && logarithm <= 4 ? absl::StrFormat("%g", std::pow(10, logarithm))
                                           : absl::StrFormat("1e%g", logarithm);
}

std::string LeftText(double y, const std::string& text) {
  return absl::StrFormat("<text x=\"-8\" y=\"%.1f\" text-anchor=\"end\">%s</text>", y, text);
}

std::string RoofAxes(const LogScale& x, const LogScale& y) {
  std::string svg;
  for (double i = x.low; i <= x.high; ++i) {
    const double at = x.At(std::pow(10, i));
    absl::StrAppend(&svg, LineAt(at, kRoofTop, at, kRoofHeight, "grid"),
                    TextAt(at, kRoofHeight + 16, i == x.high ? "end" : "middle", Power(i)));
  }
  for (double i = y.low; i <= y.high; ++i) {
    const double at = y.At(std::pow(10, i));
    absl::StrAppend(&svg, LineAt(0, at, 100, at, "grid"), LeftText(at + 4, Power(i - 9)));
  }
  return svg + TextAt(50, kRoofHeight + 34, "middle", "operations per byte") +
         "<text x=\"-44\" y=\"10\">10⁹ operations per second</text>";
}

std::string Roof(const Roofline& roofline, const LogScale& x, const LogScale& y) {
  const double knee = roofline.flops_per_second / roofline.bytes_per_second;
  const double left = std::pow(10, x.low), right = std::pow(10, x.high);
  const double start = std::max(left, std::pow(10, y.low) / roofline.bytes_per_second);
  std::string svg;
  if (start < knee) {
    const double end = std::min(knee, right);
    svg += LineAt(x.At(start), y.At(start * roofline.bytes_per_second), x.At(end),
                  y.At(end * roofline.bytes_per_second), "roof");
  }
  if (knee < right) {
    const double from = std::max(knee, left), top = y.At(roofline.flops_per_second);
    svg += LineAt(x.At(from), top, x.At(right), top, "roof");
  }
  return svg;
}

}  // namespace

std::vector<double> RoundNumbers(double top) {
  double step = std::pow(10, std::floor(std::log10(std::max(top, 1e-12))));
  if (top / step < 2) {
    step /= 5;
  } else if (top / step < 4) {
    step /= 2;
  }
  std::vector<double> ticks;
  for (int i = 0; i * step <= top * 1.0001; ++i) ticks.push_back(i * step);
  return ticks;
}

std::map<std::string, int> KernelKinds(const Report& report) {
  std::map<std::string, double> sums;
  for (const ReportGraph* side : {&report.before, &report.after}) {
    for (const KernelTiming& kernel : side->kernels) sums[KindOf(kernel)] += kernel.ms;
  }
  std::vector<std::pair<double, std::string>> sorted;
  sorted.reserve(sums.size());
  for (const auto& [kind, ms] : sums) sorted.emplace_back(-ms, kind);
  std::sort(sorted.begin(), sorted.end());
  std::map<std::string, int> kinds;
  for (const auto& [ms, kind] : sorted) kinds.emplace(kind, static_cast<int>(kinds.size()));
  return kinds;
}

std::string KindClass(const std::map<std::string, int>& kinds, const KernelTiming& kernel) {
  return absl::StrCat("k", std::min(kinds.at(KindOf(kernel)), kColors));
}

std::string TimeFigure(const Report& report) {
  const auto &before = report.before.kernels, &after = report.after.kernels;
  if (before.empty() && after.empty()) return "<p class=\"note\">Not executed.</p>\n";
  const std::map<std::string, int> kinds = KernelKinds(report);
  const double top = std::max({SumOf(before), SumOf(after), 1e-9});
  std::string html = "<figure id=\"time-figure\">\n" + Legend(kinds);
  for (const auto& [kernels, side] : {std::pair(&before, "before"), std::pair(&after, "after")}) {
    absl::StrAppend(&html, "<p class=\"caption\"><b>", side, "</b> ", FormatMs(SumOf(*kernels)),
                    " in ", FormatCount(static_cast<int64_t>(kernels->size()), "kernel"), "</p>\n",
                    InOrder(*kernels, side, top, kinds), ByKind(*kernels, side, top, kinds));
  }
  return html + TimeAxis(top) + "</figure>\n";
}

std::string RooflineFigure(const Report& report) {
  const std::vector<Spot> spots = SpotsOf(report);
  if (spots.empty()) return "<p class=\"note\">The work of the kernels is not known.</p>\n";
  double least_x = 1e300, most_x = 0, least_y = 1e300, most_y = 0;
  for (const Spot& spot : spots) {
    least_x = std::min(least_x, spot.intensity), most_x = std::max(most_x, spot.intensity);
    least_y = std::min(least_y, spot.rate), most_y = std::max(most_y, spot.rate);
  }
  if (report.roofline) most_y = std::max(most_y, report.roofline->flops_per_second);
  const LogScale x = ScaleOf(least_x, most_x, 0, 100);
  const LogScale y = ScaleOf(least_y, most_y, kRoofHeight, kRoofTop);
  std::string svg = absl::StrFormat(
      "<svg class=\"roofline\" height=\"%g\" role=\"img\" aria-label=\"speed of "
      "kernels against operations per byte\">",
      kRoofHeight + 40);
  svg += RoofAxes(x, y);
  if (report.roofline) svg += Roof(*report.roofline, x, y);
  for (const Spot& spot : spots) {
    absl::StrAppendFormat(&svg,
                          "<circle class=\"%s\" cx=\"%.3f%%\" cy=\"%.1f\" r=\"%.1f\" "
                          "data-side=\"%s\" data-kernel=\"%d\"/>",
                          spot.before ? "before" : "after", x.At(spot.intensity), y.At(spot.rate),
                          3 + 14 * std::sqrt(spot.share), spot.before ? "before" : "after",
                          spot.kernel);
  }
  std::string limits;
  if (report.roofline) {
    limits = absl::StrFormat(
        " The line is what this machine reaches: %.1f·10⁹ operations/s, %.1f GB/s; a kernel above "
        "it had its data in caches, or the limit was measured too low.",
        report.roofline->flops_per_second * 1e-9, report.roofline->bytes_per_second * 1e-9);
  }
  return absl::StrCat(
      "<figure id=\"roofline-figure\">\n<p class=\"legend\"><span class=\"before\">",
      "before</span> <span class=\"after\">after</span> The larger, the more time.", limits,
      "</p>\n", svg, "</svg>\n</figure>\n");
}

}  // namespace lemma::api
