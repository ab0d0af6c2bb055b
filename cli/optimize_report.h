// What `lemma optimize` found, as a report.
#ifndef LEMMA_CLI_OPTIMIZE_REPORT_H_
#define LEMMA_CLI_OPTIMIZE_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/acceptance.h"
#include "cli/report.h"
#include "optimizer/search.h"
#include "rewrite/substitution.h"
#include "runtime/executor.h"

namespace lemma::cli {

struct ReportOptions {
  std::string title;
  int threads = 1;
  int runs = 15;  // per graph, to time its kernels; 0: nothing is executed
  // What is said besides: what, value.
  std::vector<std::pair<std::string, std::string>> facts;
};

// `rules`: those that the steps may name, and others. `inputs` are the graph's.
absl::StatusOr<Report> MakeReport(const ReportOptions& options, const Graph& input,
                                  const SearchResult& search, const Acceptance& accepted,
                                  const std::vector<Substitution>& rules, Backend* backend,
                                  absl::Span<const Tensor> inputs);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_REPORT_H_
