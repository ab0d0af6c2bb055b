// Writes the result of an optimization, or a verdict of the referee, as an HTML page for people.
// Code: api/report.
#ifndef LEMMA_API_REPORT_H_
#define LEMMA_API_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/optimize.h"
#include "api/referee.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma::api {

// The files that a report names, and how the report was made. Texts may be empty.
struct ReportFiles {
  std::string model;   // path of the input, which is the page's title
  std::string output;  // path of the optimized model
  std::string certificate = {}, certificate_sha256 = {};  // path and hash of the certificate
  std::vector<std::string> command = {};                  // the words of the command line
  std::string date = {};                                  // when, for people
};

// The result of Optimize as one HTML page that needs no other file: a summary, both graphs with
// repeated blocks folded, each step with its place, times, a roofline and memory. The peak rates of
// the back end are measured for the roofline, which takes about a second. `options` must be the
// options of Optimize. `inputs` are values for the input graph, on which the kernels of both graphs
// are timed if Optimize timed the graphs. With options.price_steps or options.explain, the page has
// the price of each step. Errors of reading options.rules, of the back end, and of drawing
// (DotToSvg in api/draw.h). Once options.deadline has passed, the kernels of each graph are timed
// for two seconds at most, and no drawing begins later than two seconds after the timing; the page
// says so.
absl::StatusOr<std::string> ReportOf(const Graph& input, absl::Span<const Tensor> inputs,
                                     const OptimizeOptions& options, const OptimizeResult& result,
                                     const ReportFiles& files);

// The result of Referee on the models in the files `before` and `after`, as one HTML page that
// needs no other file: the verdict, the regions in the order of the second model, both graphs with
// the regions in colours, the smallest pair that differs, weights and outputs. If a graph has more
// than 800 operators, only operators that are open, refuted or different, and their operands, are
// drawn. Once the deadline has passed nothing is drawn, and the page says so.
absl::StatusOr<std::string> ReportOf(const std::string& before, const std::string& after,
                                     const RefereeResult& result,
                                     const Deadline& deadline = Deadline());

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_H_
