#include "api/report/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/report/words.h"
#include "base/text_table.h"

namespace lemma::api {
namespace {

constexpr double kMemoryWorthSaying = 0.99;  // after to before, for the headline
constexpr int kLeastRunsOfInterval = 6;      // PairedRatio in api/execution/timing.h

std::string FileName(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string Bytes(int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

// "9.7 % less", "1.2 % more", "the same"; `ratio` is after to before.
std::string LessOrMore(double ratio) {
  const double percent = 100 * std::abs(1 - ratio);
  if (percent < 0.05) return "the same";
  return absl::StrFormat("%.1f %% %s", percent, ratio < 1 ? "less" : "more");
}

// "1.2 % to 10.6 % less", of an interval of ratios.
std::string IntervalText(const RatioInterval& ratio) {
  if (ratio.high < 1) {
    return absl::StrFormat("%.1f %% to %.1f %% less", 100 * (1 - ratio.high),
                           100 * (1 - ratio.low));
  }
  return absl::StrCat(LessOrMore(ratio.low), " to ", LessOrMore(ratio.high));
}

// Whether the change of the time may be noise.
bool MayBeNoise(const ReportSummary& summary) {
  return summary.ratio && summary.ratio->low <= 1 && summary.ratio->high >= 1;
}

std::string Confidence(const ReportSummary& summary) {
  if (!summary.ratio) return "";
  return absl::StrCat(
      summary.runs < kLeastRunsOfInterval ? "between the runs: " : "with 95 % confidence ",
      IntervalText(*summary.ratio), "; ", summary.runs, " runs of each");
}

// `main` is HTML, `note` text.
std::string Card(const std::string& name, const std::string& main, const std::string& note,
                 const std::string& more = "") {
  return absl::StrCat("<div class=\"card\"><p class=\"name\">", name, "</p><p class=\"big\">", main,
                      "</p>", note.empty() ? "" : absl::StrCat("<p>", Escaped(note), "</p>"), more,
                      "</div>\n");
}

std::string FromTo(const std::string& before, const std::string& after) {
  if (before == after) return Escaped(after);
  return absl::StrCat("<span class=\"was\">", Escaped(before), " → </span>", Escaped(after));
}

// Where the interval lies, on a scale of ratios with a mark at 1.
std::string IntervalFigure(const RatioInterval& ratio) {
  const double reach = 1.25 * std::max({std::abs(1 - ratio.low), std::abs(1 - ratio.high), 0.02});
  auto at = [&](double value) { return 50 + 50 * (value - 1) / reach; };
  return absl::StrFormat(
      "<svg class=\"interval\" width=\"100%%\" height=\"30\" role=\"img\" aria-label=\"time after "
      "to before: %.3f, from %.3f to %.3f\"><line class=\"grid\" x1=\"0%%\" x2=\"100%%\" y1=\"8\" "
      "y2=\"8\"/><line class=\"tick\" x1=\"50%%\" x2=\"50%%\" y1=\"1\" y2=\"15\"/><line "
      "class=\"span\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"8\" y2=\"8\"/><circle cx=\"%.2f%%\" "
      "cy=\"8\" r=\"4.5\"/><text x=\"0%%\" y=\"28\">faster</text><text x=\"50%%\" y=\"28\" "
      "text-anchor=\"middle\">same</text><text x=\"100%%\" y=\"28\" "
      "text-anchor=\"end\">slower</text></svg>",
      ratio.median, ratio.low, ratio.high, at(ratio.low), at(ratio.high), at(ratio.median));
}

std::string TimeCard(const ReportSummary& summary) {
  if (summary.ms_before <= 0) return Card("Time of a run", "not measured", "");
  if (summary.kept_input) return Card("Time of a run", FormatMs(summary.ms_before), "unchanged");
  const double ratio = summary.ratio ? summary.ratio->median : summary.ms_after / summary.ms_before;
  return Card("Time of a run", FromTo(FormatMs(summary.ms_before), FormatMs(summary.ms_after)),
              absl::StrCat(MayBeNoise(summary) ? "no sure difference" : LessOrMore(ratio),
                           summary.ratio ? ": " : "", Confidence(summary)),
              summary.ratio ? IntervalFigure(*summary.ratio) : "");
}

std::string MemoryCard(const ReportSummary& summary) {
  if (summary.peak_before <= 0) return "";
  const double ratio =
      static_cast<double>(summary.peak_after) / static_cast<double>(summary.peak_before);
  return Card("Peak memory", FromTo(Bytes(summary.peak_before), Bytes(summary.peak_after)),
              LessOrMore(ratio));
}

std::string ProofCard(const Report& report) {
  const ReportSummary& summary = report.summary;
  int proved = 0;
  std::map<std::string, bool> is_proved;
  for (const Substitution& rule : report.rules) {
    is_proved[rule.name] = rule.proof.verdict == ProofRecord::Verdict::kProved;
  }
  for (const ReportStep& step : report.steps) proved += is_proved[step.rule] ? 1 : 0;
  const int steps = static_cast<int>(report.steps.size());
  std::string main = steps == 0 ? std::string("no step")
                     : proved == steps
                         ? absl::StrCat(steps, steps == 1 ? " step, proved" : " steps, all proved")
                         : absl::StrCat(proved, " of ", steps, " steps proved");
  std::string note;
  if (summary.contract) {
    note = absl::StrCat("results: ", WordsOf(*summary.contract), " (contract ",
                        Name(*summary.contract), ")");
  }
  return Card("Proof", main, note);
}

std::string Headline(const Report& report) {
  const ReportSummary& summary = report.summary;
  if (summary.kept_input) {
    std::string text = "Kept as it was";
    if (!summary.why_kept.empty()) absl::StrAppend(&text, ": ", summary.why_kept);
    return text + ".";
  }
  std::vector<std::string> parts;
  if (summary.ms_before > 0 && MayBeNoise(summary)) {
    parts.emplace_back("no sure difference in time");
  } else if (summary.ms_before > 0) {
    const double ratio =
        summary.ratio ? summary.ratio->median : summary.ms_after / summary.ms_before;
    parts.push_back(
        absl::StrFormat("%.1f %% %s time", 100 * std::abs(1 - ratio), ratio < 1 ? "less" : "more"));
  }
  if (summary.peak_before > 0 &&
      static_cast<double>(summary.peak_after) <
          kMemoryWorthSaying * static_cast<double>(summary.peak_before)) {
    parts.push_back(
        absl::StrFormat("%.1f %% less memory", 100 - 100 * static_cast<double>(summary.peak_after) /
                                                         static_cast<double>(summary.peak_before)));
  }
  const int fewer = report.before.graph.num_ops() - report.after.graph.num_ops();
  if (fewer > 0) parts.push_back(FormatCount(fewer, "operator") + " fewer");
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ", parts[i]);
  }
  if (text.empty()) return "Rewritten.";
  text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  return text + ".";
}

// What the rules did, the most frequent first.
std::string Changes(const Report& report) {
  const int recomputed = report.summary.recomputed, offloaded = report.summary.offloaded;
  if (report.steps.empty() && recomputed == 0 && offloaded == 0) return "";
  std::map<std::string, int> counts;
  for (const ReportStep& step : report.steps) ++counts[step.rule];
  std::vector<std::pair<int, std::string>> sorted;
  sorted.reserve(counts.size());
  for (const auto& [rule, count] : counts) sorted.emplace_back(-count, rule);
  std::sort(sorted.begin(), sorted.end());
  std::string html = "<h2>What changed</h2>\n<ul class=\"changes\">\n";
  for (const auto& [negative, counted] : sorted) {
    const std::string& name = counted;  // clang captures no structured binding
    const auto rule = std::find_if(report.rules.begin(), report.rules.end(),
                                   [&](const Substitution& r) { return r.name == name; });
    const std::string words = rule == report.rules.end() ? absl::StrCat(-negative, " × ", name)
                                                         : WordsOf(*rule, -negative);
    absl::StrAppend(&html, "<li>", Escaped(words), " <a href=\"#rule-", Escaped(name), "\">",
                    Escaped(name), "</a></li>\n");
  }
  if (recomputed > 0) {
    absl::StrAppend(&html, "<li>", FormatCount(recomputed, "operator"),
                    " computed again, to save memory</li>\n");
  }
  if (offloaded > 0) {
    absl::StrAppend(&html, "<li>", FormatCount(offloaded, "value"),
                    " kept in host memory, to save memory</li>\n");
  }
  return html + "</ul>\n";
}

// A text to copy into a shell.
std::string Command(const std::string& text) {
  return absl::StrCat("<code class=\"command\">", Escaped(text), "</code>");
}

// The flags of the command that `lemma check` needs too, each with its value.
std::vector<std::string> FlagsToCheck(const std::vector<std::string>& command) {
  std::vector<std::string> flags;
  for (size_t i = 0; i < command.size(); ++i) {
    for (const char* name : {"--rules", "--reseed-weights", "--define"}) {
      if (command[i] == name && i + 1 < command.size()) {
        flags.insert(flags.end(), {command[i], command[i + 1]});
      } else if (absl::StartsWith(command[i], absl::StrCat(name, "="))) {
        flags.push_back(command[i]);
      }
    }
  }
  return flags;
}

std::string Repeat(const Report& report) {
  const ReportSummary& summary = report.summary;
  std::string rows;
  auto row = [&](const char* name, const std::string& html) {
    absl::StrAppend(&rows, "<dt>", name, "</dt><dd>", html, "</dd>\n");
  };
  if (!summary.command.empty()) row("to repeat", Command(ShellText(summary.command)));
  if (!summary.certificate.empty()) {
    std::vector<std::string> check = {"lemma", "check", report.title, summary.output,
                                      summary.certificate};
    for (std::string& flag : FlagsToCheck(summary.command)) check.push_back(std::move(flag));
    row("to check", Command(ShellText(check)));
    row("certificate",
        Escaped(summary.certificate) + (summary.certificate_sha256.empty()
                                            ? ""
                                            : absl::StrCat("<br><span class=\"hash\">SHA-256 ",
                                                           summary.certificate_sha256, "</span>")));
  } else {
    row("certificate", "none was written");
  }
  if (!summary.outputs.empty()) row("outputs", Escaped(summary.outputs));
  if (!summary.date.empty()) row("made", Escaped(summary.date));
  return absl::StrCat("<h2>Repeat and check</h2>\n<dl class=\"repeat\">\n", rows, "</dl>\n");
}

}  // namespace

std::string SummaryOf(const Report& report) {
  const ReportSummary& summary = report.summary;
  const int before = report.before.graph.num_ops(), after = report.after.graph.num_ops();
  const std::string changes = Changes(report), repeat = Repeat(report);
  return absl::StrCat(
      "<header>\n<h1>", Escaped(FileName(report.title)), "</h1>\n<p class=\"headline\">",
      Escaped(Headline(report)), "</p>\n</header>\n<section class=\"cards\">\n", TimeCard(summary),
      MemoryCard(summary),
      Card("Operators", FromTo(absl::StrCat(before), absl::StrCat(after)),
           before == after ? "the same"
                           : LessOrMore(static_cast<double>(after) / std::max(before, 1))),
      ProofCard(report), "</section>\n",
      changes.empty() ? absl::StrCat("<section>", repeat, "</section>\n")
                      : absl::StrCat("<section class=\"split\">\n<div>", changes, "</div>\n<div>",
                                     repeat, "</div>\n</section>\n"));
}

}  // namespace lemma::api
