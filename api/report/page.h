// Makes the HTML page that reports an optimization.
#ifndef LEMMA_API_REPORT_PAGE_H_
#define LEMMA_API_REPORT_PAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "api/execution/roofline.h"
#include "api/execution/timing.h"
#include "api/report/html.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"
#include "runtime/executor.h"

namespace lemma::api {

// The graph before or after the optimization.
struct ReportGraph {
  Graph graph;
  std::vector<KernelTiming> kernels;     // in the order in which they run; empty if not timed
  std::vector<int64_t> live_bytes = {};  // by operator: bytes of the live values while it runs
};

struct ReportStep {
  std::string rule, where;  // the rule's name, and the place in the graph for people
  double ms = 0;            // predicted time of the graph after the step; negative: unknown
  // Positions in nodes() of the graph before, of what the step replaced, and of the graph after, of
  // what it made, as in optimizer::StepPlace. Empty if not known.
  std::vector<int> replaced = {}, made = {};
};

// What the top of the page says. Texts are "" and numbers 0 where they are not known.
struct ReportSummary {
  bool kept_input = false;
  std::string why_kept;                // a sentence without its full stop; for a kept input
  double ms_before = 0, ms_after = 0;  // median times of a run
  // The time of what was found divided by the input's time, from `runs` runs of each. It may be of
  // a graph that was not accepted.
  std::optional<RatioInterval> ratio;
  int runs = 0;
  int64_t peak_before = 0, peak_after = 0;  // bytes
  // Operators that are computed again, and values that are kept in host memory, to save memory.
  int recomputed = 0, offloaded = 0;
  std::optional<FloatContract> contract;  // of the whole change
  std::string outputs;                    // how the outputs compare
  // Files, and the SHA-256 of the certificate.
  std::string output, certificate, certificate_sha256;
  std::vector<std::string> command;  // the words of the command line that made the page
  std::string date;                  // when the page was made, for people
};

struct Report {
  std::string title;  // the model's file
  ReportSummary summary;
  Facts facts;
  ReportGraph before, after;
  std::optional<Roofline> roofline;  // the peak rates of the machine
  double predicted_ms = 0;           // predicted time of the input
  std::vector<ReportStep> steps;
  std::vector<Substitution> rules;  // the rules that the steps name
};

// An HTML page that needs no other file. It shows a summary, both graphs with repeated blocks
// folded, the steps one by one, times, a roofline, memory, and the rules. A script makes it
// interactive; without scripts the tables, plots and overviews remain. Equal reports give equal
// pages. After the deadline no graph is drawn, and the page says so. Errors are those of DotToSvg
// (api/draw.h).
absl::StatusOr<std::string> ReportPage(const Report& report, const Deadline& deadline = Deadline());

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_PAGE_H_
