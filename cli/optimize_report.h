// What `lemma optimize` did, as a page.
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

// Stages the page that --report asks for, if it does. `model` is the input's file, `inputs` are
// values for the input graph. Once the deadline has passed, the kernels of each graph are timed for
// two seconds at most, and no drawing begins two seconds after the first; the page says so.
absl::Status StageReport(const OptimizeFlags& flags, const std::string& model, const Graph& input,
                         const api::OptimizeResult& result, absl::Span<const Tensor> inputs,
                         const Deadline& deadline, std::vector<StagedFile>* files);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_OPTIMIZE_REPORT_H_
