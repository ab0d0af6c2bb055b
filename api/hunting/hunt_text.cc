// What a hunt found, as text.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/hunt.h"
#include "graph/text/text.h"

namespace lemma::api {
namespace {

void AddTallies(const char* what, const std::map<std::string, Tally>& tallies, std::string* text) {
  for (const auto& [reason, tally] : tallies) {
    absl::StrAppendFormat(text, "%-12s %7d  %s (case %d)\n", what, tally.count, reason,
                          tally.first_case);
  }
}

void AddFinding(const Finding& finding, std::string* text) {
  const hunt::Difference& difference = finding.difference;
  absl::StrAppend(text, "\n", absl::StrJoin(finding.operators, ", "), ": ", Name(difference.fault));
  if (difference.is_optimization) *text += ", with optimizations only";
  absl::StrAppend(text, "\n  case ", finding.case_number, ", ", finding.source);
  if (!finding.again.empty()) absl::StrAppend(text, "; ", finding.again.size(), " more");
  absl::StrAppend(text, "\n  at level ", absl::StrJoin(finding.levels, ", "), "\n");
  if (difference.fault == hunt::Fault::kValues) {
    absl::StrAppendFormat(text, "  %s[%s]: expected %.9g, seen %.9g, rounding explains %.3g\n",
                          difference.output, absl::StrJoin(difference.index, ","),
                          difference.expected, difference.seen, difference.explained);
  } else {
    absl::StrAppend(text, "  ", difference.message, "\n");
  }
  if (!finding.own_fault.empty()) {
    absl::StrAppend(text, "  a fault of Lemma: ", finding.own_fault, "\n");
  }
  PrintOptions print;
  print.types = print.elide = true;
  std::string model = PrintGraph(finding.model.graph, print);
  absl::StrAppend(text, model, "  repeat: ", finding.repeat, "\n");
  if (!finding.folder.empty()) absl::StrAppend(text, "  written to ", finding.folder, "\n");
}

}  // namespace

std::string TextOf(const HuntResult& result) {
  std::string text = absl::StrCat(result.engine, "\n");
  const auto add = [&](const char* what, int64_t count, const char* meaning) {
    absl::StrAppendFormat(&text, "%-12s %7d  %s\n", what, count, meaning);
  };
  add("cases", result.cases, "");
  add("models", result.models, "executed and compared");
  add("agree", result.agree, "");
  add("rounding", result.rounding, "differ, but not more than rounding explains");
  add("undecided", result.undecided, "differ, and so do the definitions as typed and in double");
  AddTallies("open", result.open, &text);
  AddTallies("refused", result.refused, &text);
  AddTallies("not compared", result.not_compared, &text);
  add("findings", static_cast<int64_t>(result.findings.size()), "");
  add("not finite", static_cast<int64_t>(result.not_finite.size()),
      "more, with infinite or NaN values");
  absl::StrAppendFormat(&text, "%-12s %7.1f  s\n", "time", result.seconds);
  for (const Finding& finding : result.findings) AddFinding(finding, &text);
  if (!result.not_finite.empty()) text += "\nWith infinite or NaN values:\n";
  for (const Finding& finding : result.not_finite) AddFinding(finding, &text);
  for (const std::string& own : result.own_faults) {
    absl::StrAppend(&text, "\nA fault of Lemma: ", own, "\n");
  }
  return text;
}

}  // namespace lemma::api
