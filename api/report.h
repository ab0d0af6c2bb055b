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
#include "base/file.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma::api {

// The files that a report names, and how the report was made. Texts may be empty.
struct ReportFiles {
  std::string model;   // path of the input model; the page's title
  std::string output;  // path of the optimized model
  std::string certificate = {}, certificate_sha256 = {};  // path and hash of the certificate
  std::vector<std::string> command = {};  // the words of the command line that makes the report
  std::string date = {};                  // when the report is made, for people
};

// The result of Optimize as one HTML page that needs no other file: a summary, both graphs with
// each repeated block as one box, each step with its place, times, a roofline and memory. `input`
// and `options` are the graph and the options that Optimize got; only the deadline may differ.
// `inputs` are values for the inputs of `input`. If the graph has symbolic sizes, the page shows
// the graphs at the sizes of the first hint in options.hints, and `inputs` have these sizes. If
// Optimize timed the graphs, the kernels of both graphs are timed on `inputs`, and the peak rates
// of the back end are measured for the roofline, which takes about a second. With
// options.price_steps or options.explain, the page has the price of each step. Errors of reading
// options.rules, of the back end, and of drawing (DotToSvg in api/draw.h).
//
// After options.deadline, the peak rates are not measured. Timing one graph, and drawing both
// graphs, stop at the deadline, but each of these jobs gets at least two seconds. A graph that is
// timed is executed at least once. Where a graph is not drawn, the page says so.
absl::StatusOr<std::string> ReportOf(const Graph& input, absl::Span<const Tensor> inputs,
                                     const OptimizeOptions& options, const OptimizeResult& result,
                                     const ReportFiles& files);
// Prepares the page for `path`; the caller commits it (base/file.h). The page has the date of the
// call. `certificate`: the prepared certificate, whose hash the page shows; nullptr: none.
absl::StatusOr<StagedFile> StageReport(const Graph& input, absl::Span<const Tensor> inputs,
                                       const OptimizeOptions& options, const OptimizeResult& result,
                                       ReportFiles files, const StagedFile* certificate,
                                       const std::string& path);

// The result of Referee as one HTML page that needs no other file: the verdict, the regions in the
// order of the second model, both graphs with the regions in colors, the smallest pair of graphs
// that differs, computed weights, and differences of outputs. `before` and `after` are the paths of
// the two models; they are only printed. If a graph has more than 800 operators, only these and
// their operands are drawn: the open and refuted operators, and the operators of proved regions in
// which the operators of the two models differ. If these are more than 800 operators in all, the
// operators of proved regions are left out. After the deadline nothing is drawn, and the page says
// so.
absl::StatusOr<std::string> ReportOf(const std::string& before, const std::string& after,
                                     const RefereeResult& result,
                                     const Deadline& deadline = Deadline());

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_H_
