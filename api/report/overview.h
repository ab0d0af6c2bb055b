// Draws a reported graph with its repeated blocks folded. Internal to the reports.
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
  std::string html;  // the drawing, and a <template> for each block that opens it
  std::vector<Block> blocks;
};

// The graph drawn as at most about 150 boxes, whatever its size. A box has the class op_N or
// block_N with its number. Opened, a block shows the operators of its first copy, and their
// operands with the class outside. After the deadline nothing is drawn, and `html` says so; a block
// whose drawing would begin later, or that has more than 400 operators, has no template. Errors are
// those of DotToSvg (api/draw.h).
absl::StatusOr<Overview> OverviewOf(const Graph& graph, const ReportOperators& ops,
                                    const Deadline& deadline);

// "block × 4", or "operators 20 to 61" for a block of one copy.
std::string NameOf(const Block& block);

}  // namespace lemma::api

#endif  // LEMMA_API_REPORT_OVERVIEW_H_
