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
  std::vector<KernelTiming> kernels;  // in the order in which they run; empty if not timed
  // For each operator, in order: the bytes of the values that are live while the operator runs
  // (LiveBytes in optimizer/cost/analytic_cost.h). Empty if not known.
  std::vector<int64_t> live_bytes = {};
};

struct ReportStep {
  std::string rule, where;  // the rule's name, and a description of the place in the graph
  double ms = 0;            // predicted time of the graph after the step; negative: unknown
  // As in optimizer::StepPlace: positions in nodes() of the graph before the optimization, and of
  // the graph after it. Empty if not known.
  std::vector<int> replaced = {}, made = {};
};

// The contents of the top of the page. Unknown texts are "", unknown numbers 0.
struct ReportSummary {
  bool kept_input = false;             // the input was written, since no better graph was found
  std::string why_kept;                // if kept_input: a sentence without its full stop
  double ms_before = 0, ms_after = 0;  // median times of a run
  // The time of the graph that the search found, divided by the time of the input, from `runs` runs
  // of each graph. Absent if they were not timed. The found graph may be one that was not accepted.
  std::optional<RatioInterval> ratio;
  int runs = 0;
  int64_t peak_before = 0, peak_after = 0;  // peak memory in bytes
  // Operators that are computed again, and values that are kept in host memory, to save memory.
  int recomputed = 0, offloaded = 0;
  std::optional<FloatContract> contract;  // of the whole change
  std::string outputs;                    // the difference between the outputs, for people
  // Paths of the written model and of the certificate, and the certificate's SHA-256.
  std::string output, certificate, certificate_sha256;
  std::vector<std::string> command;  // the words of the command line that made the page
  std::string date;                  // when the page was made, for people
};

struct Report {
  std::string title;  // path of the model's file
  ReportSummary summary;
  Facts facts;  // details of the run
  ReportGraph before, after;
  std::optional<Roofline> roofline;  // the peak rates of the machine; nullopt: not known
  double predicted_ms = 0;           // predicted time of the input
  std::vector<ReportStep> steps;
  std::vector<Substitution> rules;  // the rules that the steps name
};

// An HTML page that needs no other file. It shows a summary, both graphs with each repeated block
// as one box, the steps one by one, times, a roofline, memory, and the rules. A script makes it
// interactive; without scripts the tables, plots and overviews remain. Equal reports give equal
// pages, unless the deadline passes. After the deadline no drawing begins; where a graph is not
// drawn, the page says so. Errors are those of DotToSvg (api/draw.h).
absl::StatusOr<std::string> ReportPage(const Report& report, const Deadline& deadline = Deadline());

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_PAGE_H_
