// The page that a report of an optimization is.
#ifndef LEMMA_API_REPORT_PAGE_H_
#define LEMMA_API_REPORT_PAGE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"
#include "runtime/executor.h"

namespace lemma::api {

// A graph before or after.
struct ReportGraph {
  Graph graph;
  std::vector<KernelTiming> kernels;     // of one run, in order; empty: not executed
  std::vector<int64_t> live_bytes = {};  // of values while each operator runs
};

struct ReportStep {
  std::string rule, where;
  double ms = 0;  // predicted, of the graph after the step; negative: not priced
};

struct Report {
  std::string title;                                       // the model's file
  std::vector<std::pair<std::string, std::string>> facts;  // what, value: in the page's order
  ReportGraph before, after;
  double predicted_ms = 0;  // of the input
  std::vector<ReportStep> steps;
  std::vector<Substitution> rules;  // those that the steps name
};

// One HTML page that needs nothing else: tables, plots, both graphs as SVG that can be moved,
// enlarged and searched. Of a graph of more than 800 operators, what differs from the other is
// drawn, with its neighbours. Equal reports give equal pages. Once the deadline has passed no graph
// is drawn, and the page says so.
absl::StatusOr<std::string> ReportPage(const Report& report, const Deadline& deadline = Deadline());

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_PAGE_H_
