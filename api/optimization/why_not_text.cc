// Where a rule was not applied, and why, as text.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/optimization/why_not.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

constexpr size_t kMostPlaces = 4;  // that are printed of a group

// "-1.2 us", "+3.0 ms"; "-1.2 us to +3.0 ms".
std::string Signed(double ms) { return absl::StrCat(ms < 0 ? "-" : "+", FormatMs(std::abs(ms))); }
std::string Signed(int64_t bytes) {
  return absl::StrCat(bytes < 0 ? "-" : "+", FormatBytes(std::abs(static_cast<double>(bytes))));
}
template <typename T>
std::string Range(T least, T most) {
  return Signed(least) == Signed(most) ? Signed(least)
                                       : absl::StrCat(Signed(least), " to ", Signed(most));
}

std::string GroupText(const WhyNotGroup& group, bool memory) {
  std::string text = absl::StrFormat("%5d x %s", group.places.size(), group.reason);
  if (group.only_obstacle && group.missing < Missing::kTangled)
    absl::StrAppend(&text, "; all else fits");
  if (const auto& c = group.change; c && (memory || c->least_ms != 0 || c->most_ms != 0)) {
    absl::StrAppend(&text, ": ", Range(c->least_ms, c->most_ms),
                    memory ? ", " + Range(c->least_bytes, c->most_bytes) : "");
  }
  const size_t shown = std::min(group.places.size(), kMostPlaces);
  const std::vector<std::string> some(group.places.begin(), group.places.begin() + shown);
  return absl::StrCat(text, "\n          ", absl::StrJoin(some, ", "),
                      shown < group.places.size() ? ", …\n" : "\n");
}

std::string GraphText(const std::string& what, const std::string& anchor, const WhyNotGraph& graph,
                      bool memory) {
  std::string text = absl::StrCat(what, ": ", graph.anchors, " x ", anchor, "\n");
  for (const WhyNotGroup& group : graph.groups) text += GroupText(group, memory);
  if (graph.not_looked_at > 0) {
    absl::StrAppend(&text, "    ", graph.not_looked_at,
                    " of them were not looked at: the time is up\n");
  }
  return text;
}

}  // namespace

std::string TextOf(const WhyNotReport& report, const std::string& excluded, bool memory) {
  std::string text = absl::StrCat("rule ", report.rule, " (", SourceText(report), "): ");
  if (!excluded.empty()) {
    absl::StrAppend(&text, "the search did not use it: ", excluded, "\n");
  } else {
    absl::StrAppend(
        &text, report.applied == 0 ? "not applied" : absl::StrCat("applied ", report.applied, " x"),
        "\n");
  }
  return absl::StrCat(text, GraphText("input", report.anchor, report.input, memory),
                      GraphText("result", report.anchor, report.result, memory));
}

}  // namespace lemma::api
