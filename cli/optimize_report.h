// Collects the data of the page that `lemma optimize --report` writes (cli/report.h).
#ifndef LEMMA_CLI_OPTIMIZE_REPORT_H_
#define LEMMA_CLI_OPTIMIZE_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/deadline.h"
#include "base/file.h"
#include "cli/optimize.h"
#include "graph/tensor.h"

namespace lemma::cli {

// If --report is given, makes the page and adds it to *files. `model` is the input's file, `inputs`
// are values for the input graph. After the deadline, the kernels of each graph are timed for at
// most two seconds, and drawings begin within two seconds or are left out; the page says so.
absl::Status StageReport(const OptimizeFlags& flags, const std::string& model, const Graph& input,
                         const api::OptimizeResult& result, absl::Span<const Tensor> inputs,
                         const Deadline& deadline, std::vector<StagedFile>* files);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_REPORT_H_
