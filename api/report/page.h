// Makes the HTML page that reports an optimization.
#ifndef LEMMA_API_REPORT_PAGE_H_
#define LEMMA_API_REPORT_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
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
};

struct Report {
  std::string title;  // the model's file
  Facts facts;
  ReportGraph before, after;
  double predicted_ms = 0;  // predicted time of the input
  std::vector<ReportStep> steps;
  std::vector<Substitution> rules;  // the rules that the steps name
};

// An HTML page that needs no other file: tables, plots, and both graphs as SVG that can be moved,
// enlarged and searched. If a graph has more than 800 operators, only the operators that the other
// graph lacks, and their operands, are drawn. Equal reports give equal pages. After the deadline no
// graph is drawn, and the page says so. Errors are those of Drawing (api/report/html.h).
absl::StatusOr<std::string> ReportPage(const Report& report, const Deadline& deadline = Deadline());

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_PAGE_H_
