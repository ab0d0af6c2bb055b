// Draws a reported graph with each repeated block of operators as one box. Internal to the reports.
#ifndef LEMMA_API_REPORT_OVERVIEW_H_
#define LEMMA_API_REPORT_OVERVIEW_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/report/blocks.h"
#include "api/report/operators.h"
#include "base/deadline.h"

namespace lemma::api {

struct Overview {
  std::string html;  // the drawing, and for each block a <template> with its opened drawing
  std::vector<Block> blocks;
};

// Draws the graph. Its operators become about 150 boxes or fewer; inputs and outputs have boxes of
// their own. `ops` must be the operators of this graph. The CSS class of a box is op_N for operator
// N of ReportOperators::all, and block_N for block N of Overview::blocks. The drawing of an opened
// block has the operators of its first copy. The inputs and earlier operators that they read have
// boxes with the class "outside". If the deadline has passed, nothing is drawn, and `html` says so.
// A block has no <template> if a copy has more than 400 operators, or if the deadline passes before
// the drawing of the block begins. Errors are those of DotToSvg (api/draw.h).
absl::StatusOr<Overview> OverviewOf(const Graph& graph, const ReportOperators& ops,
                                    const Deadline& deadline);

// "block × 4"; for a block of one copy "operators 20 to 61", numbered from 1.
std::string NameOf(const Block& block);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_OVERVIEW_H_
